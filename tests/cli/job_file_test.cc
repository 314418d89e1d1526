#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/file_text.h"
#include "cli/job_file_codec.h"
#include "cli/job_yaml_codec.h"
#include "cli/load_job_codec.h"

namespace flywheel {
namespace {

absl::StatusOr<JobFile> Parse(const std::string& text,
                              std::vector<std::string> overrides = {}) {
  return JobFile::Parse({"x.yaml", text, std::move(overrides)});
}

std::string ErrorOf(const std::string& text,
                    std::vector<std::string> overrides = {}) {
  const absl::StatusOr<JobFile> job = Parse(text, std::move(overrides));
  if (job.ok()) return "no error";
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(job.status().message());
}

// A job text and the one sentence it is refused with.
struct Refusal {
  const char* name;
  std::string text;
  std::string error;
};

std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  return out << refusal.name;
}

class JobFileRefusalTest : public testing::TestWithParam<Refusal> {};

TEST_P(JobFileRefusalTest, IsOneSentence) {
  EXPECT_EQ(ErrorOf(GetParam().text), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, JobFileRefusalTest,
    testing::Values(
        Refusal{"Misspelled",
                "task: a\nalgorithm:\n  kind: ppo\n  unrol_length: 8\n",
                "x.yaml:4: algorithm.unrol_length: unknown field; did you mean "
                "\"unroll_length\"?"},
        Refusal{"MisspelledInAFlowMap", "task: a\n\npacing: {max_lag: 1}\n",
                "x.yaml:3: pacing.max_lag: unknown field"},
        Refusal{"MisspelledSection", "polcy: {}\n",
                "x.yaml:1: polcy: unknown field; did you mean \"policy\"?"},
        Refusal{"Hyphens", "algorithm: {batch-credits: 1}\n",
                "x.yaml:1: algorithm.batch-credits: unknown field; did you "
                "mean \"batch_credits\"?"},
        Refusal{"WrongSection", "task: a\nunroll_length: 8\n",
                "x.yaml:2: unroll_length: unknown field; did you mean "
                "\"algorithm.unroll_length\"?"},
        Refusal{"NothingNear", "xyzzy: 1\n", "x.yaml:1: xyzzy: unknown field"},
        Refusal{"OddName", "\"a\\nb\": 1\n",
                "x.yaml:1: \"a\\nb\": unknown field"},
        Refusal{"EmptyName", "\"\": 1\n", "x.yaml:1: : unknown field"},
        Refusal{"MergeKey", "<<: {seed: 1}\n",
                "x.yaml:1: \"<<\": unknown field"},
        Refusal{"WordForNumber", "algorithm:\n  batch_credits: lots\n",
                "x.yaml:2: algorithm.batch_credits must be a whole number from "
                "1 to 65536, got \"lots\""},
        Refusal{"TooSmall", "algorithm: {batch_credits: 0}",
                "x.yaml:1: algorithm.batch_credits must be a whole number from "
                "1 to 65536, got 0"},
        Refusal{"TooLarge", "algorithm: {batch_credits: 65537}",
                "x.yaml:1: algorithm.batch_credits must be a whole number from "
                "1 to 65536, got 65537"},
        Refusal{"Fraction", "algorithm: {batch_credits: 1.5}",
                "x.yaml:1: algorithm.batch_credits must be a whole number from "
                "1 to 65536, got 1.5"},
        Refusal{"OverflowsInt64", "budget: {environment_steps: 1e400}",
                "x.yaml:1: budget.environment_steps must be a whole number "
                "from 1 to 1000000000000000, got \"1e400\""},
        Refusal{"OverflowsSeed", "seed: 18446744073709551616",
                "x.yaml:1: seed must be a whole number, got "
                "18446744073709551616; it goes from 0 to 18446744073709551615"},
        Refusal{"NegativeSeed", "seed: -1",
                "x.yaml:1: seed must be a whole number, got -1; it goes from 0 "
                "to 18446744073709551615"},
        Refusal{"HexadecimalNumber", "seed: 0x10",
                "x.yaml:1: seed must be a whole number, got \"0x10\""},
        Refusal{"QuotedNumber", "algorithm: {epochs: \"4\"}",
                "x.yaml:1: algorithm.epochs must be a whole number from 1 to "
                "100, got the text \"4\" (without the quotes?)"},
        Refusal{"NoValue", "algorithm:\n  epochs:\n",
                "x.yaml:2: algorithm.epochs must be a whole number from 1 to "
                "100, got nothing"},
        Refusal{"ListForNumber", "algorithm: {epochs: [4]}",
                "x.yaml:1: algorithm.epochs must be a whole number from 1 to "
                "100, got a list"},
        Refusal{"MapForNumber", "algorithm: {epochs: {n: 4}}",
                "x.yaml:1: algorithm.epochs must be a whole number from 1 to "
                "100, got a map of fields"},
        Refusal{
            "NotANumber", "algorithm: {discount: .nan}",
            "x.yaml:1: algorithm.discount must be a finite number from 0 to 1, "
            "got \".nan\""},
        Refusal{
            "NanWord", "algorithm: {discount: nan}",
            "x.yaml:1: algorithm.discount must be a finite number from 0 to 1, "
            "got \"nan\""},
        Refusal{"Infinite", "budget: {target_return: .inf}",
                "x.yaml:1: budget.target_return must be a finite number, got "
                "\".inf\""},
        Refusal{"OverflowsDouble", "budget: {target_return: 1e999}",
                "x.yaml:1: budget.target_return must be a finite number, got "
                "\"1e999\""},
        Refusal{
            "NumberOutOfRange", "algorithm: {discount: 1.01}",
            "x.yaml:1: algorithm.discount must be a finite number from 0 to 1, "
            "got 1.01"},
        Refusal{"WordForBool", "policy: {normalize_observations: yes}",
                "x.yaml:1: policy.normalize_observations must be true or "
                "false, got \"yes\""},
        Refusal{"NumberForBool", "policy: {normalize_observations: 1}",
                "x.yaml:1: policy.normalize_observations must be true or "
                "false, got 1"},
        Refusal{"UnknownKind", "policy: {kind: tiny-vla}",
                "x.yaml:1: policy.kind must be one of \"mlp_gaussian\", "
                "\"tiny_vla\", got \"tiny-vla\"; did you mean \"tiny_vla\"?"},
        Refusal{"OnlyKind", "algorithm: {kind: sac}",
                "x.yaml:1: algorithm.kind must be \"ppo\", got \"sac\""},
        Refusal{"NumberForList", "policy: {hidden_sizes: 64}",
                "x.yaml:1: policy.hidden_sizes must be a list, such as "
                "[64, 64], each item a whole number from 1 to 8192, got 64"},
        Refusal{"EmptyList", "policy: {hidden_sizes: []}",
                "x.yaml:1: policy.hidden_sizes must be a list, such as "
                "[64, 64], each item a whole number from 1 to 8192, got an "
                "empty list"},
        Refusal{"BadItem", "policy:\n  hidden_sizes: [64, 0]\n",
                "x.yaml:2: policy.hidden_sizes must be a list, such as "
                "[64, 64], each item a whole number from 1 to 8192, got 0"},
        Refusal{"NumberForSection", "policy: 3\n",
                "x.yaml:1: policy must be a map of fields such as \"kind: …\", "
                "got \"3\""},
        Refusal{"ListForSection", "policy: [1]\n",
                "x.yaml:1: policy must be a map of fields such as \"kind: …\", "
                "got a list"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Documents, JobFileRefusalTest,
    testing::Values(
        Refusal{"Empty", "",
                "x.yaml: empty; a job names at least a task and a budget"},
        Refusal{"OnlyComments", "# nothing\n\n",
                "x.yaml: empty; a job names at least a task and a budget"},
        Refusal{"Null", "~\n",
                "x.yaml: empty; a job names at least a task and a budget"},
        Refusal{"List", "- task: a\n",
                "x.yaml:1: a job must be a map of fields such as \"name: …\", "
                "got a list"},
        Refusal{"Word", "\n\nhello\n",
                "x.yaml:3: a job must be a map of fields such as \"name: …\", "
                "got \"hello\""},
        Refusal{"TwoDocuments", "task: a\n---\ntask: b\n",
                "x.yaml:3: a second document; a job file has one"},
        Refusal{"Twice", "seed: 1\ntask: a\nseed: 2\n",
                "x.yaml:3: \"seed\" is given twice, first on line 1"},
        Refusal{"TwiceInASection",
                "pacing: {max_policy_lag: 1,\n "
                "max_policy_lag: 1}",
                "x.yaml:2: \"max_policy_lag\" is given twice, first on line 1"},
        Refusal{"Tab", "policy:\n\tkind: tiny_vla\n",
                "x.yaml:2: a tab in the indentation; use spaces"},
        Refusal{"Anchor", "policy: &p {kind: tiny_vla}\n",
                "x.yaml:1: anchors (&p) are not allowed"},
        Refusal{"Alias", "task: a\nname: *x\n",
                "x.yaml:2: not YAML: the referenced anchor is not defined"},
        Refusal{"Tag", "seed: !!int 5\n",
                "x.yaml:1: tags (\"tag:yaml.org,2002:int\") are not allowed"},
        Refusal{"Unclosed", "policy: {kind: tiny_vla\ntask: a\n",
                "x.yaml:2: not YAML: end of map flow not found"},
        Refusal{"MapAsName", "? {a: b}\n: c\n",
                "x.yaml:1: a field's name must be plain text; is a bracket "
                "left open?"},
        Refusal{"NullName", "~: c\n",
                "x.yaml:1: a field's name must be plain text; is a bracket "
                "left open?"},
        Refusal{"ListAsName", "[a]: c\n",
                "x.yaml:1: a field's name must be plain text; is a bracket "
                "left open?"},
        Refusal{"NotText", std::string("task: a\nname: \xff\n"),
                "x.yaml:2: not UTF-8 text"},
        Refusal{"ZeroByte", std::string("task: a\0b\n", 10),
                "x.yaml:1: not UTF-8 text"},
        Refusal{"Deep", std::string(100, '[') + std::string(100, ']'),
                "x.yaml:1: nested deeper than 16 levels"},
        Refusal{"DeepAndUnclosed", std::string(100000, '['),
                "x.yaml:1: a field's name must be plain text; is a bracket "
                "left open?"},
        Refusal{"Large", std::string((1 << 20) + 1, '#'),
                "x.yaml: larger than 1048576 bytes"}),
    [](const auto& info) { return info.param.name; });

TEST(JobFileTest, TakesTheFieldsThatAreGivenAndNoOthers) {
  const auto job = Parse(
      "name: reach-vla\n"
      "task: tabletop/reach\n"
      "policy: {kind: tiny_vla, hidden_sizes: [32, 16]}\n"
      "algorithm:\n"
      "  discount: 0.5\n"
      "  scale_rewards: false\n"
      "pretraining:\n"
      "seed: 18446744073709551615\n");
  ASSERT_TRUE(job.ok()) << job.status();
  const v1::JobSpec& spec = job->spec();
  EXPECT_EQ(spec.name(), "reach-vla");
  EXPECT_EQ(spec.policy().kind(), "tiny_vla");
  EXPECT_EQ(spec.policy().hidden_sizes_size(), 2);
  EXPECT_EQ(spec.policy().hidden_sizes(1), 16);
  EXPECT_EQ(spec.algorithm().discount(), 0.5);
  EXPECT_TRUE(spec.algorithm().has_scale_rewards());
  EXPECT_FALSE(spec.algorithm().scale_rewards());
  EXPECT_FALSE(spec.algorithm().has_batch_credits());
  EXPECT_EQ(spec.seed(), 18446744073709551615u);
  EXPECT_TRUE(job->Gives("policy.hidden_sizes"));
  EXPECT_FALSE(job->Gives("policy.width"));
}

TEST(JobFileTest, TakesWholeNumbersWithExponentsAndUnderscores) {
  for (const char* text : {"2000000", "2_000_000", "2e6", "2.0e6", "+2000000",
                           "0.2E+7", "20000000e-1", "2000000.0"}) {
    const auto job =
        Parse(absl::StrCat("budget: {environment_steps: ", text, "}"));
    ASSERT_TRUE(job.ok()) << text << ": " << job.status();
    EXPECT_EQ(job->spec().budget().environment_steps(), 2000000) << text;
  }
}

TEST(JobFileTest, NullLeavesAFieldUnsetThatMayBe) {
  const auto job = Parse("budget: {seconds: null, train_steps: 5}\n",
                         {"budget.train_steps=null"});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_FALSE(job->spec().budget().has_seconds());
  EXPECT_FALSE(job->spec().budget().has_train_steps());
}

TEST(JobFileTest, PlainTextThatLooksLikeANumberIsATextWhereATextIsWanted) {
  const auto job = Parse("name: 2024\ntask: \"true\"\n");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec().name(), "2024");
  EXPECT_EQ(job->spec().task(), "true");
}

TEST(JobFileOverrideTest, ReplacesWhatTheFileSays) {
  const auto job =
      Parse("task: a\npolicy: {hidden_sizes: [8, 8, 8], width: 32}\n",
            {"policy.hidden_sizes=[32, 32]", "task=b", "seed=1", "seed=7",
             " algorithm.discount = 0.5 "});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec().task(), "b");
  EXPECT_EQ(job->spec().policy().hidden_sizes_size(), 2);
  EXPECT_EQ(job->spec().policy().width(), 32);
  EXPECT_EQ(job->spec().seed(), 7u);
  EXPECT_EQ(job->spec().algorithm().discount(), 0.5);
}

TEST(JobFileOverrideTest, AMapChangesOnlyTheFieldsItNames) {
  const auto job = Parse("policy: {width: 32, layers: 3}\n",
                         {"policy={layers: 1, kind: tiny_vla}"});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec().policy().width(), 32);
  EXPECT_EQ(job->spec().policy().layers(), 1);
  EXPECT_EQ(job->spec().policy().kind(), "tiny_vla");
}

TEST(JobFileOverrideTest, ItsErrorsNameItInPlaceOfFileAndLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"algorithm.unrol_length=3",
       "--set: algorithm.unrol_length: unknown field; did you mean "
       "\"unroll_length\"?"},
      {"algorithm.batch_credits=lots",
       "--set: algorithm.batch_credits must be a whole number from 1 to "
       "65536, got \"lots\""},
      {"algorithm.batch_credits=",
       "--set: algorithm.batch_credits must be a whole number from 1 to "
       "65536, got nothing"},
      {"seed",
       "--set: \"seed\" must be path=value, such as pacing.max_policy_lag=1"},
      {"=3",
       "--set: \"=3\" must be path=value, such as "
       "pacing.max_policy_lag=1"},
      {"", "--set: \"\" must be path=value, such as pacing.max_policy_lag=1"},
      {"seed.x=3", "--set: seed must be a whole number, got a map of fields"},
      {"policy=3",
       "--set: policy must be a map of fields such as "
       "\"kind: …\", got \"3\""},
      {"seed=[1",
       "--set: seed: a field's name must be plain text; is a bracket left "
       "open?"},
      {"seed=&a 1", "--set: seed: anchors (&a) are not allowed"},
      {"policy..kind=x", "--set: policy.: unknown field"},
  };
  for (const auto& [override_text, error] : cases) {
    EXPECT_EQ(ErrorOf("task: a\n", {override_text}), error);
  }
}

TEST(JobFilePlaceTest, PointsAtTheFieldThenItsSectionThenTheFile) {
  const auto job =
      Parse("task: a\nresources:\n  rollouts: 2\n", {"budget.seconds=1"});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->AtItsPlace("resources.rollouts must be odd"),
            "x.yaml:3: resources.rollouts must be odd");
  EXPECT_EQ(job->AtItsPlace("resources.inference_batch must divide"),
            "x.yaml:2: resources.inference_batch must divide");
  EXPECT_EQ(job->AtItsPlace("budget.seconds must be long"),
            "--set: budget.seconds must be long");
  EXPECT_EQ(job->AtItsPlace("name: too long"), "x.yaml: name: too long");
  EXPECT_EQ(job->AtItsPlace(""), "x.yaml: ");
}

TEST(JobYamlTest, ReadsBackToTheSameJob) {
  v1::JobSpec job;
  job.set_name("it's \"odd\": \\ \t #1\n");
  job.set_task("gymnasium:HalfCheetah-v5");
  job.mutable_policy()->add_hidden_sizes(64);
  job.mutable_policy()->add_hidden_sizes(7);
  job.mutable_policy()->set_initial_log_std(-0.1);
  job.mutable_policy()->set_normalize_observations(false);
  job.mutable_algorithm()->set_learning_rate(1.0 / 3);
  job.mutable_algorithm()->set_adam_epsilon(5e-324);
  job.mutable_budget()->set_target_return(-1.7976931348623157e308);
  job.mutable_budget()->set_environment_steps(1000000000000000);
  job.mutable_resources();  // Empty: as good as absent.
  job.set_seed(18446744073709551615u);
  const std::string yaml = JobToYaml(job);
  const auto again = Parse(yaml);
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << yaml;
  job.clear_resources();
  EXPECT_EQ(again->spec().SerializeAsString(), job.SerializeAsString()) << yaml;
  EXPECT_EQ(JobToYaml(again->spec()), yaml);
}

TEST(JobYamlTest, QuotesWhatYamlWouldReadAsSomethingElse) {
  for (const char* name :
       {"null", "~", "", "true", "1e6", "- a", "a: b", "a #b", " a", "*a", "é",
        "a:", "[a]", "%", "@a", "`a`", "!a", "\x7f"}) {
    v1::JobSpec job;
    job.set_name(name);
    const auto again = Parse(JobToYaml(job));
    if (std::string(name) == "\x7f") {
      EXPECT_FALSE(again.ok());
      continue;
    }
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << JobToYaml(job);
    EXPECT_EQ(again->spec().name(), name);
  }
}

// Changes, cuts, doubles and inserts bytes at random places.
std::string Mutated(std::string text, std::mt19937_64& random) {
  static constexpr char kBytes[] = "{}[]:,-#&*!|>'\"%@`\t\n \\?~01eE.x\xff\x80";
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    const char byte = kBytes[random() % (sizeof(kBytes) - 1)];
    switch (random() % 5) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1 + random() % 8);
        break;
      case 3:
        text.insert(at, text.substr(random() % text.size(), random() % 40));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

TEST(JobFileMutationTest, EveryMutationIsAJobOrOneSentence) {
  const absl::StatusOr<std::string> example =
      ReadFile(FLYWHEEL_SOURCE_DIR "/examples/reach_vla.yaml", 1 << 20);
  ASSERT_TRUE(example.ok()) << example.status();
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = Mutated(*example, random);
    const auto job = Parse(text);
    if (job.ok()) continue;
    ++refused;
    const auto message = std::string(job.status().message());
    ASSERT_TRUE(absl::StartsWith(message, "x.yaml:"))
        << "seed " << seed << ": " << message;
    ASSERT_EQ(message.find('\n'), std::string::npos)
        << "seed " << seed << ": " << message;
  }
  EXPECT_GT(refused, 5000) << "seed " << seed;
}

TEST(JobFileMutationTest, WhatIsAcceptedReadsBackTheSameFromItsYaml) {
  const absl::StatusOr<std::string> example =
      ReadFile(FLYWHEEL_SOURCE_DIR "/examples/halfcheetah.yaml", 1 << 20);
  ASSERT_TRUE(example.ok()) << example.status();
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto job = Parse(Mutated(*example, random));
    if (!job.ok()) continue;
    ++accepted;
    const std::string yaml = JobToYaml(job->spec());
    if (yaml.empty()) continue;
    const auto again = Parse(yaml);
    ASSERT_TRUE(again.ok())
        << "seed " << seed << ": " << again.status() << yaml;
    ASSERT_EQ(JobToYaml(again->spec()), yaml) << "seed " << seed;
  }
  EXPECT_GT(accepted, 50) << "seed " << seed;
}

TEST(JobFileTest, TheExamplesAreJobs) {
  for (const char* name : {"reach_vla", "halfcheetah"}) {
    const auto text = ReadFile(
        absl::StrCat(FLYWHEEL_SOURCE_DIR "/examples/", name, ".yaml"), 1 << 20);
    ASSERT_TRUE(text.ok()) << text.status();
    const auto job = Parse(*text);
    EXPECT_TRUE(job.ok()) << job.status();
  }
}

TEST(CheckResumableTest, TheNetworkStaysAndTheRestMayChange) {
  const LoadedJob before{.network = {{"policy.activation", "tanh"},
                                     {"policy.kind", "mlp_gaussian"},
                                     {"task", "t"}}};
  LoadedJob job = before;
  job.spec.budget.environment_steps = 7;
  EXPECT_TRUE(CheckResumable(before, job).ok());
  job.network["policy.activation"] = "relu";
  EXPECT_EQ(CheckResumable(before, job).message(),
            "policy.activation must stay tanh in a run that goes on from a "
            "checkpoint, got relu");
}

}  // namespace
}  // namespace flywheel
