#include "services/buffer/credit_requests.h"

namespace flywheel {

void CreditRequests::Add(uint64_t environment, uint64_t worker) {
  if (waiting_.contains(environment)) return;
  const WaitingRequest request = {.given = given_[environment],
                                  .arrival = ++num_arrivals_,
                                  .environment = environment,
                                  .worker = worker};
  waiting_.emplace(environment, request);
  in_order_.insert(request);
}

void CreditRequests::Granted(uint64_t environment) {
  const auto request = waiting_.find(environment);
  in_order_.erase(request->second);
  waiting_.erase(request);
  ++given_[environment];
}

void CreditRequests::RemoveAllOf(uint64_t worker) {
  for (const WaitingRequest& request : InOrder()) {
    if (request.worker != worker) continue;
    waiting_.erase(request.environment);
    in_order_.erase(request);
  }
}

std::vector<WaitingRequest> CreditRequests::InOrder() const {
  return {in_order_.begin(), in_order_.end()};
}

}  // namespace flywheel
