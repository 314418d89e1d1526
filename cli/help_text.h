#pragma once

#include <string_view>

namespace flywheel {

inline constexpr std::string_view kHelp =
    R"(flywheel trains robot policies by asynchronous reinforcement learning.

    flywheel train [JOB.yaml]    train; without a file, the example reach_vla
    flywheel eval RUN            play episodes with a trained policy
    flywheel validate JOB.yaml   check a job file, and show it with all defaults
    flywheel report RUN          write a run's report.html again
    flywheel doctor              look at this machine, and what it lacks
    flywheel version
    flywheel help [COMMAND]

Examples

    flywheel train
    flywheel train examples/halfcheetah.yaml --set budget.seconds=60
    flywheel train --resume runs/halfcheetah-20250131-120000
    flywheel eval runs/halfcheetah-20250131-120000 --episodes 20

A job's fields, with unit, range and default: proto/flywheel/v1/job.proto.
Exit codes: 0 done, 1 the job failed, 64 bad usage or configuration,
75 worth trying again, 130 interrupted.
)";

inline constexpr std::string_view kTrainHelp =
    R"(flywheel train [JOB.yaml] [--set PATH=VALUE]... [--output DIR]
flywheel train --resume DIR [--set PATH=VALUE]...

Trains the job until its budget is used, shows how it goes, and leaves a run
folder with report.html, summary.json, metrics.jsonl, checkpoints and logs.

    JOB.yaml           what to train; default: examples/reach_vla.yaml
    --set PATH=VALUE   change one field, e.g. --set pacing.max_policy_lag=1
    --output DIR       the run folder; default: runs/<name>-<date>-<time>
    --resume DIR       go on with a run from its newest checkpoint

Ctrl-C stops in order, with a final checkpoint; a second one stops at once.

Examples

    flywheel train examples/halfcheetah.yaml --set seed=2 --output runs/seed-2
    flywheel train --resume runs/seed-2 --set budget.environment_steps=20e6
)";

inline constexpr std::string_view kEvalHelp =
    R"(flywheel eval RUN [--checkpoint NAME] [--episodes N]

Plays episodes on held-out seeds with the mean action of a trained policy and
prints the return and, where the task has one, the success rate.

    RUN                a run folder
    --checkpoint NAME  a folder in RUN/checkpoints; default: the newest
    --episodes N       default: evaluation.episodes of the job

Example

    flywheel eval runs/halfcheetah-20250131-120000 --episodes 20
)";

inline constexpr std::string_view kValidateHelp =
    R"(flywheel validate JOB.yaml [--set PATH=VALUE]...

Checks a job file and starts nothing. Prints the job with every default filled
in, or one sentence with the file, the line, the field and the rule.

Example

    flywheel validate examples/reach_vla.yaml --set pacing.max_policy_lag=0
)";

inline constexpr std::string_view kReportHelp = R"(flywheel report RUN

Writes RUN/report.html again from RUN/summary.json, metrics.jsonl and job.yaml.
)";

inline constexpr std::string_view kVersionHelp = R"(flywheel version

Prints the version and how this program was built.
)";

inline constexpr std::string_view kDoctorHelp = R"(flywheel doctor

Shows versions, CPU features, GPUs, rendering, memory and limits of this
machine, and what to do about each thing that is missing. Part of the launcher
./flywheel at the top of the repository.
)";

}  // namespace flywheel
