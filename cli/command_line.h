#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace flywheel {

// What a user asked `flywheel` to do.

struct TrainOptions {
  std::string job_file;                // Empty: the default example.
  std::vector<std::string> overrides;  // --set path=value, in order.
  std::string output;                  // Empty: runs/<name>-<time>.
  std::string resume;                  // A run folder to go on with, or empty.
};

struct EvalOptions {
  std::string run_folder;
  std::string checkpoint;           // Empty: the newest.
  std::optional<int64_t> episodes;  // Unset: as the job says.
};

struct ValidateOptions {
  std::string job_file;
  std::vector<std::string> overrides;
};

struct ReportOptions {
  std::string run_folder;
};

struct VersionOptions {};

struct HelpOptions {
  std::string text;
};

using Command = std::variant<TrainOptions, EvalOptions, ValidateOptions,
                             ReportOptions, VersionOptions, HelpOptions>;

// The command in `arguments`, the program's name left out. InvalidArgument with
// one sentence, and the likely name, for what is no command of ours.
absl::StatusOr<Command> ParseCommandLine(std::vector<std::string> arguments);

}  // namespace flywheel
