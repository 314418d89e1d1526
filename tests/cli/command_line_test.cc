#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace flywheel {
namespace {

template <typename T>
T Parsed(std::vector<std::string> arguments) {
  const auto command = ParseCommandLine(std::move(arguments));
  EXPECT_TRUE(command.ok()) << command.status();
  if (!command.ok() || !std::holds_alternative<T>(*command)) {
    ADD_FAILURE() << "another command";
    return {};
  }
  return std::get<T>(*command);
}

TEST(CommandLineTest, TrainTakesEachOptionInAnyOrder) {
  const auto train =
      Parsed<TrainOptions>({"train", "--set", "a=1", "job.yaml", "--set",
                            "b=[2, 3]", "--set=c=4", "--output", "out"});
  EXPECT_EQ(train.job_file, "job.yaml");
  EXPECT_EQ(train.overrides,
            (std::vector<std::string>{"a=1", "b=[2, 3]", "c=4"}));
  EXPECT_EQ(train.output, "out");
  EXPECT_EQ(train.resume, "");
}

TEST(CommandLineTest, TrainNeedsNothing) {
  EXPECT_EQ(Parsed<TrainOptions>({"train"}).job_file, "");
}

TEST(CommandLineTest, ValuesMayLookLikeAnything) {
  const auto train = Parsed<TrainOptions>(
      {"train", "--set", "policy={kind: tiny_vla, width: 8}", "--set",
       "policy.initial_log_std=-1", "--", "-odd.yaml"});
  EXPECT_EQ(train.overrides[0], "policy={kind: tiny_vla, width: 8}");
  EXPECT_EQ(train.overrides[1], "policy.initial_log_std=-1");
  EXPECT_EQ(train.job_file, "-odd.yaml");
}

TEST(CommandLineTest, EvalTakesARunAndHowToPlayIt) {
  const auto eval = Parsed<EvalOptions>(
      {"eval", "runs/a", "--checkpoint", "step-5", "--episodes", "2e2"});
  EXPECT_EQ(eval.run_folder, "runs/a");
  EXPECT_EQ(eval.checkpoint, "step-5");
  EXPECT_EQ(eval.episodes, 200);
  EXPECT_FALSE(Parsed<EvalOptions>({"eval", "runs/a"}).episodes.has_value());
}

TEST(CommandLineTest, HelpIsThereForEveryCommand) {
  for (const char* verb :
       {"train", "eval", "validate", "report", "doctor", "version"}) {
    const std::string text = Parsed<HelpOptions>({"help", verb}).text;
    EXPECT_TRUE(absl::StartsWith(text, std::string("flywheel ") + verb));
    EXPECT_EQ(Parsed<HelpOptions>({verb, "--help"}).text, text);
    EXPECT_EQ(Parsed<HelpOptions>({verb, "x", "-h"}).text, text);
    EXPECT_TRUE(absl::StrContains(Parsed<HelpOptions>({"help"}).text,
                                  std::string("flywheel ") + verb));
  }
  EXPECT_EQ(Parsed<HelpOptions>({"--help"}).text,
            Parsed<HelpOptions>({"help"}).text);
}

TEST(CommandLineTest, RefusesTheRestWithASentence) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "a command is missing; see flywheel help"},
      {{"tarin"}, "\"tarin\": unknown command; did you mean train?"},
      {{"xyzzy"}, "\"xyzzy\": unknown command; see flywheel help"},
      {{""}, "\"\": unknown command; see flywheel help"},
      {{"a/b.yaml"},
       "\"a/b.yaml\": unknown command; did you mean flywheel train a/b.yaml?"},
      {{"help", "tarin"}, "\"tarin\": unknown command; did you mean train?"},
      {{"train", "--ouput", "x"},
       "flywheel train: \"--ouput\": unknown option; did you mean --output?"},
      {{"train", "--ouput=x"},
       "flywheel train: \"--ouput\": unknown option; did you mean --output?"},
      {{"train", "-x"}, "flywheel train: \"-x\": unknown option"},
      {{"train", "a", "b"}, "flywheel train: \"b\": one JOB.yaml is enough"},
      {{"train", "--output"}, "flywheel train: --output needs a value"},
      {{"train", "--set"}, "flywheel train: --set needs a value"},
      {{"train", "--output", "a", "--output", "b"},
       "flywheel train: --output may be given once"},
      {{"train", "a.yaml", "--resume", "r"},
       "flywheel train: --resume goes on with the job in \"r\"; leave out "
       "\"a.yaml\", and change it with --set"},
      {{"train", "--resume", "r", "--output", "o"},
       "flywheel train: --resume goes on in its own folder; leave out "
       "--output"},
      {{"train", "--resume", ""}, "flywheel train: --resume must not be empty"},
      {{"train", "--output="}, "flywheel train: --output needs a value"},
      {{"train", ""}, "flywheel train: JOB.yaml must not be empty"},
      {{"eval"}, "flywheel eval: needs a run folder"},
      {{"eval", "r", "--episodes", "many"},
       "flywheel eval: --episodes must be a whole number from 1 to 1000000, "
       "got \"many\""},
      {{"eval", "r", "--episodes", "0"},
       "flywheel eval: --episodes must be a whole number from 1 to 1000000, "
       "got \"0\""},
      {{"eval", "r", "--episodes", "-3"},
       "flywheel eval: --episodes must be a whole number from 1 to 1000000, "
       "got \"-3\""},
      {{"validate"}, "flywheel validate: needs a job file"},
      {{"report"}, "flywheel report: needs a run folder"},
      {{"version", "x"}, "flywheel version: \"x\": takes nothing"},
      {{"doctor"},
       "flywheel doctor is part of the launcher: run ./flywheel doctor at the "
       "top of the repository"},
  };
  for (const auto& [arguments, error] : cases) {
    const auto command = ParseCommandLine(arguments);
    ASSERT_FALSE(command.ok()) << absl::StrJoin(arguments, " ");
    EXPECT_EQ(std::string(command.status().message()), error);
  }
}

}  // namespace
}  // namespace flywheel
