#include "services/wire/admin_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "prometheus/counter.h"
#include "prometheus/registry.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

int Connect(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(connection, reinterpret_cast<sockaddr*>(&address),
                    sizeof(address)),
            0);
  const timeval limit{.tv_sec = 10};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  return connection;
}

// The whole answer, headers included.
std::string Get(int port, const std::string& path) {
  const int connection = Connect(port);
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  EXPECT_EQ(write(connection, request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(connection, buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  close(connection);
  return answer;
}

TEST(AdminServerTest, ServesMetricsAsPrometheusText) {
  const auto server = *AdminServer::Start("learner-0");
  prometheus::BuildCounter()
      .Name("flywheel_test_events_total")
      .Help("Events.")
      .Register(server->registry())
      .Add({})
      .Increment(3);
  const std::string answer = Get(server->port(), "/metrics");
  EXPECT_TRUE(Contains(answer, "200 OK"));
  EXPECT_TRUE(Contains(answer, "flywheel_test_events_total 3"));
  EXPECT_TRUE(Contains(answer,
                       "flywheel_process_start_timestamp_seconds{process="
                       "\"learner-0\"}"));
}

TEST(AdminServerTest, IsHealthyWhileTheWorkLoopTurns) {
  const auto server = *AdminServer::Start("learner-0");
  server->Beat();
  const std::string answer = Get(server->port(), "/healthz");
  EXPECT_TRUE(Contains(answer, "200 OK"));
  EXPECT_TRUE(Contains(answer, "\r\n\r\nok"));
}

TEST(AdminServerTest, KnowsNoOtherPath) {
  const auto server = *AdminServer::Start("learner-0");
  EXPECT_TRUE(Contains(Get(server->port(), "/"), "404"));
}

TEST(AdminServerTest, TwoServersHaveTwoPorts) {
  const auto one = *AdminServer::Start("a");
  const auto two = *AdminServer::Start("b");
  EXPECT_NE(one->port(), two->port());
}

TEST(AdminServerTest, APeerThatSaysNothingHoldsUpTheNextForASecondOrSo) {
  const auto server = *AdminServer::Start("learner-0");
  const int silent = Connect(server->port());
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(Contains(Get(server->port(), "/healthz"), "200 OK"));
  EXPECT_LT(std::chrono::steady_clock::now() - started,
            std::chrono::seconds(3));
  close(silent);
}

TEST(AdminServerTest, StopsQuicklyEvenWithAPeerThatSaysNothing) {
  auto server = *AdminServer::Start("learner-0");
  const int silent = Connect(server->port());
  const auto started = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started,
            std::chrono::seconds(3));
  close(silent);
}

}  // namespace
}  // namespace flywheel
