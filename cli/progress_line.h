#pragma once

#include <string>
#include <vector>

#include "cli/progress_meter.h"
#include "services/core/job_status.h"

namespace flywheel {

// What a person is told about a run, as text. Pure.

// What it does now: "starting", "collecting 120/500", "imitating", "training",
// "evaluating 12/200", "recovering", "stopping".
std::string PhaseText(const Job& job);

// Its figures, the most important first: "921,600 env steps", "13,412/s",
// "train step 225", "return 2913", "lag 0.9 (max 3)", "1:12 left". Those not
// known yet are left out.
std::vector<std::string> Figures(const Job& job, const ProgressMeter& meter);

// One line of at most `columns` characters for a terminal, with a bar:
// "training   46% ▕████▌     ▏ 921,600 env steps · 13,412/s · …". Figures that
// do not fit are left out from the right.
std::string LiveLine(const Job& job, const ProgressMeter& meter, int columns);

// The same for a file, in ASCII: "training 46%, 921,600 env steps, 13,412/s".
std::string PlainLine(const Job& job, const ProgressMeter& meter);

// "evaluation at 200,000 env steps: return 2913 (10 episodes)".
std::string EvaluationLine(const Evaluation& evaluation);

// "rollout 0 was replaced: signal 9".
std::string RestartLine(const Restart& restart);

// Characters a terminal shows for UTF-8 `text`, each taken as one column wide.
int Columns(const std::string& text);

}  // namespace flywheel
