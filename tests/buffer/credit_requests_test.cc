#include "services/buffer/credit_requests.h"

#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

std::vector<uint64_t> Order(const CreditRequests& requests) {
  std::vector<uint64_t> environments;
  for (const WaitingRequest& request : requests.InOrder()) {
    environments.push_back(request.environment);
  }
  return environments;
}

TEST(CreditRequestsTest, WhoCameFirstIsServedFirst) {
  CreditRequests requests;
  for (const uint64_t environment : {4, 2, 3}) requests.Add(environment, 0);
  requests.Add(2, 0);  // Asking again changes nothing.
  EXPECT_EQ(Order(requests), (std::vector<uint64_t>{4, 2, 3}));
}

TEST(CreditRequestsTest, WhoHadFewerCreditsGoesBeforeWhoHadMore) {
  CreditRequests requests;
  requests.Add(1, 0);
  requests.Granted(1);
  requests.Add(1, 0);
  requests.Add(2, 0);
  EXPECT_EQ(Order(requests), (std::vector<uint64_t>{2, 1}));
}

TEST(CreditRequestsTest, ForgetsOneWorkersRequestsAndNobodyElses) {
  CreditRequests requests;
  requests.Add(1, 10);
  requests.Add(2, 20);
  requests.Add(3, 10);
  requests.RemoveAllOf(10);
  EXPECT_EQ(Order(requests), std::vector<uint64_t>{2});
  requests.Add(1, 11);
  EXPECT_EQ(requests.InOrder()[1].worker, 11u);
}

}  // namespace
}  // namespace flywheel
