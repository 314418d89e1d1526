#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "services/core/credit.h"

namespace flywheel {

// A credit that is out, and with whom.
struct Grant {
  Credit credit;
  uint64_t worker = 0;
  absl::Time given;
  absl::Time sent;                  // When its CreditGrant last left.
  std::optional<absl::Time> asked;  // Since then, its environment asked again.
};

// Credits of every kind that are out: at most one per environment.
//
// Not thread-safe. Pointers are valid until the next change.
class GrantBook {
 public:
  // REQUIRES: neither the credit nor its environment has a grant.
  void Add(const Grant& grant);

  // Nullptr if there is none.
  Grant* Find(uint64_t credit);
  Grant* FindByEnvironment(uint64_t environment);

  // Nothing happens if there is none.
  void Remove(uint64_t credit);

  // Oldest first.
  std::vector<Grant> OfWorker(uint64_t worker) const;
  std::vector<Grant> OfKind(CreditKind kind) const;

  std::size_t num_demonstrations() const { return num_demonstrations_; }

 private:
  std::map<uint64_t, Grant> grants_;             // By credit.
  std::map<uint64_t, uint64_t> by_environment_;  // Credits.
  std::size_t num_demonstrations_ = 0;
};

}  // namespace flywheel
