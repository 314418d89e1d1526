#include "services/wire/admin_server.h"

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include "httplib.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"

namespace flywheel {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBeatLimit{10};
constexpr time_t kPeerLimitSeconds =
    1;  // To send a request, to take an answer.
constexpr std::size_t kRequestBytesMax = 4096;

class LoopbackAdminServer final : public AdminServer {
 public:
  explicit LoopbackAdminServer(std::string_view process_name) {
    prometheus::BuildGauge()
        .Name("flywheel_process_start_timestamp_seconds")
        .Help("When this process started, in seconds since 1970.")
        .Register(registry_)
        .Add({{"process", std::string(process_name)}})
        .SetToCurrentTime();
    server_.Get("/metrics", [this](const auto&, httplib::Response& response) {
      response.set_content(
          prometheus::TextSerializer().Serialize(registry_.Collect()),
          "text/plain; version=0.0.4");
    });
    server_.Get("/healthz", [this](const auto&, httplib::Response& response) {
      AnswerHealth(response);
    });
    // One short connection at a time: nothing to wait for when it stops.
    server_.new_task_queue = [] { return new httplib::ThreadPool(1); };
    server_.set_keep_alive_max_count(1);
    // Also the limit for a peer's first byte.
    server_.set_keep_alive_timeout(kPeerLimitSeconds);
    server_.set_read_timeout(kPeerLimitSeconds);
    server_.set_write_timeout(kPeerLimitSeconds);
    server_.set_payload_max_length(kRequestBytesMax);
  }

  ~LoopbackAdminServer() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen() {
    port_ = server_.bind_to_any_port("127.0.0.1");
    if (port_ <= 0) {
      return absl::UnavailableError(
          "cannot listen on a loopback port for /metrics");
    }
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // stop() would not end a server that is only about to run.
    while (!server_.is_running()) std::this_thread::yield();
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  prometheus::Registry& registry() override { return registry_; }
  void Beat() override { last_beat_.store(SteadyClock::now()); }

 private:
  void AnswerHealth(httplib::Response& response) const {
    const std::chrono::duration<double> silence =
        SteadyClock::now() - last_beat_.load();
    if (silence < kBeatLimit) {
      response.set_content("ok\n", "text/plain");
      return;
    }
    response.status = 503;
    response.set_content(
        absl::StrCat("the work loop has not turned for ", silence.count(),
                     " s; the limit is ", kBeatLimit.count(), " s\n"),
        "text/plain");
  }

  prometheus::Registry registry_;
  std::atomic<SteadyClock::time_point> last_beat_ = SteadyClock::now();
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;  // Answers requests; started last.
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(
    std::string_view process_name) {
  auto server = std::make_unique<LoopbackAdminServer>(process_name);
  if (absl::Status status = server->Listen(); !status.ok()) return status;
  return server;
}

}  // namespace flywheel
