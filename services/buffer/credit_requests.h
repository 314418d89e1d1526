#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace flywheel {

// One environment that waits for a credit.
struct WaitingRequest {
  int64_t given = 0;     // Credits this environment had so far.
  uint64_t arrival = 0;  // Counts requests.
  uint64_t environment = 0;
  uint64_t worker = 0;
  auto operator<=>(const WaitingRequest&) const = default;
};

// The environments that wait for credits, in the fair order: those that had the
// fewest so far, then by arrival.
//
// Not thread-safe.
class CreditRequests {
 public:
  // Nothing changes if `environment` waits already.
  void Add(uint64_t environment, uint64_t worker);

  // It got one. REQUIRES: it waits.
  void Granted(uint64_t environment);

  // Whom nobody will answer any more.
  void RemoveAllOf(uint64_t worker);

  // A copy, so that the caller may grant while it goes through it.
  std::vector<WaitingRequest> InOrder() const;

  bool empty() const { return in_order_.empty(); }
  std::size_t size() const { return in_order_.size(); }

 private:
  uint64_t num_arrivals_ = 0;
  std::map<uint64_t, int64_t> given_;           // By environment.
  std::map<uint64_t, WaitingRequest> waiting_;  // By environment.
  std::set<WaitingRequest> in_order_;
};

}  // namespace flywheel
