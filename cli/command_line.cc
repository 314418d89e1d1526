#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/help_text.h"
#include "cli/likely_name.h"
#include "cli/number_text.h"
#include "cli/text_checks.h"

namespace flywheel {
namespace {

struct Verb {
  std::string_view name;
  std::string_view help;
};

constexpr Verb kVerbs[] = {
    {"train", kTrainHelp},
    {"eval", kEvalHelp},
    {"validate", kValidateHelp},
    {"report", kReportHelp},
    {"doctor", kDoctorHelp},
    {"version", kVersionHelp},
    {"help", kHelp},
};

absl::string_view ToAbsl(std::string_view text) {
  return {text.data(), text.size()};
}

std::string DidYouMean(const std::string& likely) {
  return likely.empty() ? "" : absl::StrCat("; did you mean ", likely, "?");
}

absl::Status UnknownVerb(const std::string& verb) {
  std::vector<std::string> names;
  for (const Verb& known : kVerbs) names.emplace_back(known.name);
  const std::string likely = LikelyName(verb, names);
  const bool is_file =
      absl::EndsWith(verb, ".yaml") || absl::EndsWith(verb, ".yml");
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(verb), ": unknown command",
                   is_file ? DidYouMean(absl::StrCat("flywheel train ", verb))
                           : DidYouMean(likely),
                   likely.empty() && !is_file ? "; see flywheel help" : ""));
}

const Verb* FindVerb(const std::string& name) {
  const auto found =
      std::find_if(std::begin(kVerbs), std::end(kVerbs),
                   [&](const Verb& verb) { return verb.name == name; });
  return found == std::end(kVerbs) ? nullptr : &*found;
}

bool AsksForHelp(const std::string& argument) {
  return argument == "--help" || argument == "-h" || argument == "-help";
}

// The arguments of one verb. CLI11 tells options from positions and values;
// what is wrong is said in our words.
class VerbLine {
 public:
  explicit VerbLine(std::string_view verb) : verb_(verb) {
    app_.set_help_flag();
    app_.allow_extras();
  }

  // Given at most once, with a value.
  VerbLine& Option(const std::string& name, std::string& value) {
    once_.push_back(app_.add_option(name, value)->take_last());
    names_.push_back(name);
    return *this;
  }

  // Given any number of times, with one value each.
  VerbLine& Repeated(const std::string& name, std::vector<std::string>& all) {
    app_.add_option(name, all)->allow_extra_args(false)->take_all();
    names_.push_back(name);
    return *this;
  }

  // Stands without a name; at most one.
  VerbLine& Position(const std::string& what, std::string& value) {
    position_ = what;
    app_.add_option(what, value);
    return *this;
  }

  absl::Status Parse(std::vector<std::string> arguments) try {
    std::reverse(arguments.begin(), arguments.end());  // As CLI11 wants them.
    app_.parse(arguments);
    std::vector<std::string> extra = app_.remaining();
    std::erase(extra, "--");  // What follows it are no options.
    return extra.empty() ? CheckValues() : Refuse(extra.front());
  } catch (const CLI::ArgumentMismatch& error) {
    // Its words begin with the option's name.
    const std::string words = error.what();
    return Usage(words.substr(0, words.find(':')) + " needs a value");
  } catch (const CLI::ParseError& error) {
    return Usage(error.what());
  }

  absl::Status Usage(const std::string& sentence) const {
    return absl::InvalidArgumentError(
        absl::StrCat("flywheel ", ToAbsl(verb_), ": ", sentence));
  }

 private:
  absl::Status CheckValues() const {
    for (const CLI::Option* const option : once_) {
      if (option->count() > 1) {
        return Usage(option->get_name() + " may be given once");
      }
    }
    // An empty path would mean the present folder.
    for (const CLI::Option* const option : app_.get_options()) {
      if (option->count() == 0 || !option->results().front().empty()) continue;
      return Usage(absl::StrCat(option->get_name(), " must not be empty"));
    }
    return absl::OkStatus();
  }

  absl::Status Refuse(const std::string& argument) const {
    if (absl::StartsWith(argument, "-")) {
      const std::string name = argument.substr(0, argument.find('='));
      return Usage(absl::StrCat(Quoted(name), ": unknown option",
                                DidYouMean(LikelyName(name, names_))));
    }
    return Usage(absl::StrCat(
        Quoted(argument), ": ",
        position_.empty() ? "takes nothing"
                          : absl::StrCat("one ", position_, " is enough")));
  }

  const std::string_view verb_;
  CLI::App app_;
  std::vector<std::string> names_;  // Of the options.
  std::vector<const CLI::Option*> once_;
  std::string position_;
};

absl::StatusOr<Command> ParseTrain(std::vector<std::string> arguments) {
  TrainOptions train;
  VerbLine line("train");
  const absl::Status status = line.Repeated("--set", train.overrides)
                                  .Option("--output", train.output)
                                  .Option("--resume", train.resume)
                                  .Position("JOB.yaml", train.job_file)
                                  .Parse(std::move(arguments));
  if (!status.ok()) return status;
  if (!train.resume.empty() && !train.job_file.empty()) {
    return line.Usage(absl::StrCat(
        "--resume goes on with the job in ", Quoted(train.resume),
        "; leave out ", Quoted(train.job_file), ", and change it with --set"));
  }
  if (!train.resume.empty() && !train.output.empty()) {
    return line.Usage("--resume goes on in its own folder; leave out --output");
  }
  return train;
}

absl::StatusOr<Command> ParseEval(std::vector<std::string> arguments) {
  EvalOptions eval;
  std::string episodes;
  VerbLine line("eval");
  const absl::Status status = line.Option("--checkpoint", eval.checkpoint)
                                  .Option("--episodes", episodes)
                                  .Position("RUN", eval.run_folder)
                                  .Parse(std::move(arguments));
  if (!status.ok()) return status;
  if (eval.run_folder.empty()) return line.Usage("needs a run folder");
  if (!episodes.empty()) {
    const std::optional<absl::int128> count = WholeNumberFromText(episodes);
    if (!count || *count < 1 || *count > 1000000) {
      return line.Usage(
          absl::StrCat("--episodes must be a whole number from 1 to 1000000, "
                       "got ",
                       Quoted(episodes)));
    }
    eval.episodes = static_cast<int64_t>(*count);
  }
  return eval;
}

absl::StatusOr<Command> ParseValidate(std::vector<std::string> arguments) {
  ValidateOptions validate;
  VerbLine line("validate");
  const absl::Status status = line.Repeated("--set", validate.overrides)
                                  .Position("JOB.yaml", validate.job_file)
                                  .Parse(std::move(arguments));
  if (!status.ok()) return status;
  if (validate.job_file.empty()) return line.Usage("needs a job file");
  return validate;
}

absl::StatusOr<Command> ParseReport(std::vector<std::string> arguments) {
  ReportOptions report;
  VerbLine line("report");
  const absl::Status status =
      line.Position("RUN", report.run_folder).Parse(std::move(arguments));
  if (!status.ok()) return status;
  if (report.run_folder.empty()) return line.Usage("needs a run folder");
  return report;
}

absl::StatusOr<Command> ParseVersion(std::vector<std::string> arguments) {
  const absl::Status status = VerbLine("version").Parse(std::move(arguments));
  if (!status.ok()) return status;
  return VersionOptions{};
}

absl::StatusOr<Command> ParseHelp(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return HelpOptions{std::string(kHelp)};
  const Verb* const verb = FindVerb(arguments.front());
  if (verb == nullptr) return UnknownVerb(arguments.front());
  return HelpOptions{std::string(verb->help)};
}

}  // namespace

absl::StatusOr<Command> ParseCommandLine(std::vector<std::string> arguments) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError(
        "a command is missing; see flywheel help");
  }
  const std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (AsksForHelp(name)) return ParseHelp({});
  if (name == "--version") return ParseVersion(std::move(arguments));
  const Verb* const verb = FindVerb(name);
  if (verb == nullptr) return UnknownVerb(name);
  if (std::any_of(arguments.begin(), arguments.end(), AsksForHelp)) {
    return HelpOptions{std::string(verb->help)};
  }
  if (name == "train") return ParseTrain(std::move(arguments));
  if (name == "eval") return ParseEval(std::move(arguments));
  if (name == "validate") return ParseValidate(std::move(arguments));
  if (name == "report") return ParseReport(std::move(arguments));
  if (name == "version") return ParseVersion(std::move(arguments));
  if (name == "help") return ParseHelp(arguments);
  return absl::InvalidArgumentError(
      "flywheel doctor is part of the launcher: run ./flywheel doctor at the "
      "top of the repository");
}

}  // namespace flywheel
