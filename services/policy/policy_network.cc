#include "services/policy/policy_network.h"

#include "absl/strings/str_cat.h"
#include "services/policy/mlp_gaussian.h"
#include "services/policy/tiny_vla.h"

namespace flywheel {

absl::StatusOr<std::shared_ptr<PolicyNetwork>> MakePolicyNetwork(
    const PolicySpec& spec, const PolicyShape& shape, uint64_t seed) {
  if (shape.action_chunk < 1 || shape.action_size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a policy needs actions of at least [1, 1], got [",
                     shape.action_chunk, ", ", shape.action_size, "]"));
  }
  if (shape.action_chunk != spec.action_chunk) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.action_chunk is ", spec.action_chunk,
                     ", the records have ", shape.action_chunk));
  }
  if (spec.kind == "mlp_gaussian") return MlpGaussian::Make(spec, shape, seed);
  if (spec.kind == "tiny_vla") return TinyVla::Make(spec, shape, seed);
  return absl::InvalidArgumentError(absl::StrCat(
      "policy.kind must be mlp_gaussian or tiny_vla, got ", spec.kind));
}

}  // namespace flywheel
