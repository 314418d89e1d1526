#pragma once

#include <string>

#include "services/core/job_status.h"

namespace flywheel {

// What `flywheel eval` prints: a few lines for people.
std::string EvaluationText(const Evaluation& evaluation);

}  // namespace flywheel
