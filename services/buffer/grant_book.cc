#include "services/buffer/grant_book.h"

namespace flywheel {

void GrantBook::Add(const Grant& grant) {
  by_environment_.emplace(grant.credit.environment, grant.credit.id);
  grants_.emplace(grant.credit.id, grant);
  if (grant.credit.kind == CreditKind::kDemonstration) ++num_demonstrations_;
}

Grant* GrantBook::Find(uint64_t credit) {
  const auto found = grants_.find(credit);
  return found == grants_.end() ? nullptr : &found->second;
}

Grant* GrantBook::FindByEnvironment(uint64_t environment) {
  const auto found = by_environment_.find(environment);
  return found == by_environment_.end() ? nullptr : Find(found->second);
}

void GrantBook::Remove(uint64_t credit) {
  const auto found = grants_.find(credit);
  if (found == grants_.end()) return;
  const Credit& removed = found->second.credit;
  if (removed.kind == CreditKind::kDemonstration) --num_demonstrations_;
  by_environment_.erase(removed.environment);
  grants_.erase(found);
}

std::vector<Grant> GrantBook::OfWorker(uint64_t worker) const {
  std::vector<Grant> grants;
  for (const auto& [id, grant] : grants_) {
    if (grant.worker == worker) grants.push_back(grant);
  }
  return grants;
}

std::vector<Grant> GrantBook::OfKind(CreditKind kind) const {
  std::vector<Grant> grants;
  for (const auto& [id, grant] : grants_) {
    if (grant.credit.kind == kind) grants.push_back(grant);
  }
  return grants;
}

}  // namespace flywheel
