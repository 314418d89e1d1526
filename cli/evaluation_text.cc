#include "cli/evaluation_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "cli/number_format.h"

namespace flywheel {

std::string EvaluationText(const Evaluation& evaluation) {
  std::string text = absl::StrCat(
      evaluation.episodes, " episodes on held-out seeds, policy version ",
      Grouped(evaluation.policy_version), " (",
      Grouped(evaluation.environment_steps), " environment steps)\n");
  if (std::isfinite(evaluation.success_rate)) {
    absl::StrAppend(&text, "  success  ", Percent(evaluation.success_rate),
                    "\n");
  }
  absl::StrAppend(&text, "  return   ", Compact(evaluation.episode_return_mean),
                  " ± ", Compact(evaluation.episode_return_std), "\n");
  return text;
}

}  // namespace flywheel
