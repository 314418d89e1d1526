// Plays held-out episodes with the mean action of one checkpoint and writes
// what came of it as JSON.
//
// As a member of a job (--orchestrator …) it evaluates a checkpoint of that
// job; alone (--run FOLDER) one of a run folder.

#include <cmath>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "services/core/exit_code.h"
#include "services/core/status_macros.h"
#include "services/policy/policy.h"
#include "services/policy/stored_policy.h"
#include "services/rollout/evaluation.h"
#include "services/rollout/network_policy.h"
#include "services/wire/checkpoint_store.h"
#include "services/wire/crc32c.h"
#include "services/wire/job_spec_codec.h"
#include "services/wire/service_process.h"
#include "sim/environment_pool.h"
#include "spdlog/spdlog.h"

namespace flywheel {
namespace {

constexpr int kMaxEnvironments = 16;

struct Request {
  std::string run_folder;
  std::string checkpoint;  // Folder name; empty: the newest valid one.
  int episodes = 0;        // 0: as the job says.
  std::string output;      // File to write; empty: standard output.
};

absl::StatusOr<Checkpoint> Read(const Request& request) {
  absl::StatusOr<CheckpointStore> store =
      CheckpointStore::Open({.folder = request.run_folder + "/checkpoints"});
  if (!store.ok()) return store.status();
  if (!request.checkpoint.empty()) return store->Read(request.checkpoint);
  std::vector<std::string> skipped;
  absl::StatusOr<Checkpoint> newest = store->ReadNewest(skipped);
  for (const std::string& sentence : skipped) spdlog::warn("{}", sentence);
  return newest;
}

std::string ToJson(const Checkpoint& checkpoint, const TaskSpec& task,
                   const EvaluationResult& result) {
  nlohmann::ordered_json object = {
      {"checkpoint", checkpoint.name},
      {"policy_version", checkpoint.manifest.policy_version},
      {"environment_steps", checkpoint.manifest.environment_steps},
      {"seconds_trained", checkpoint.manifest.seconds},
      {"episodes", result.returns.size()},
      {"episode_return_mean", result.return_mean()},
      {"episode_return_std", result.return_std()},
      {"success_rate", nullptr}};
  if (task.has_success) object["success_rate"] = result.success_rate();
  return object.dump(2) + "\n";
}

absl::Status WriteOut(const std::string& text, const std::string& path) {
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    return absl::OkStatus();
  }
  std::ofstream file(path, std::ios::trunc);
  file << text << std::flush;
  if (file) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path));
}

absl::Status EvaluateRequest(
    const Request& request, const std::stop_token& stop,
    const std::function<void(EvaluationStatus)>& report) {
  SetPolicyThreads(1);
  const absl::StatusOr<Checkpoint> checkpoint = Read(request);
  if (!checkpoint.ok()) return checkpoint.status();
  const absl::StatusOr<JobSpec> job = JobSpecFromBytes(checkpoint->job);
  if (!job.ok()) return job.status();
  const absl::StatusOr<PolicySnapshotPtr> snapshot = PolicyFromState(
      checkpoint->state, job->policy.kind,
      [](std::span<const std::byte> bytes) { return Crc32c(bytes); });
  if (!snapshot.ok()) return snapshot.status();
  const int episodes =
      request.episodes > 0 ? request.episodes : job->evaluation.episodes;
  const absl::StatusOr<std::unique_ptr<EnvironmentPool>> pool =
      EnvironmentPool::Create(
          {.task = job->task,
           .num_environments = std::clamp(episodes, 1, kMaxEnvironments),
           .num_threads = 1});
  if (!pool.ok()) return pool.status();
  absl::StatusOr<std::unique_ptr<ActingPolicy>> policy =
      MakeNetworkPolicy((*pool)->spec(), job->policy);
  if (!policy.ok()) return policy.status();
  FLYWHEEL_RETURN_IF_ERROR((*policy)->Load(**snapshot));
  const absl::StatusOr<EvaluationResult> result =
      Evaluate(**pool, **policy,
               {.episodes = std::max(episodes, 1),
                .action_chunk = job->policy.action_chunk},
               stop, [&](int64_t finished) {
                 report({.episodes = finished, .episodes_total = episodes});
               });
  if (!result.ok()) return result.status();
  return WriteOut(ToJson(*checkpoint, (*pool)->spec(), *result),
                  request.output);
}

int AsMember(int argc, char** argv) {
  std::string episodes;
  Request request;
  const ServiceFlag flags[] = {
      {"--checkpoint", "folder under checkpoints/", &request.checkpoint},
      {"--episodes", "to play", &episodes},
      {"--output", "JSON file to write", &request.output}};
  return RunService(
      Role::kEvaluation, argc, argv,
      [&](ServiceContext& service) -> absl::Status {
        request.run_folder = service.assignment.run_folder;
        if (!absl::SimpleAtoi(episodes, &request.episodes)) {
          return absl::InvalidArgumentError(absl::StrCat(
              "--episodes must be a whole number, got \"", episodes, "\""));
        }
        return EvaluateRequest(request, service.stop,
                               [&](const EvaluationStatus& status) {
                                 service.membership.Report(status);
                                 service.admin.Beat();
                               });
      },
      flags);
}

int Alone(int argc, char** argv) {
  Request request;
  CLI::App app("Evaluates a checkpoint of a run folder.");
  app.add_option("--run", request.run_folder, "run folder")->required();
  app.add_option("--checkpoint", request.checkpoint,
                 "folder under checkpoints/; default: the newest valid one");
  app.add_option("--episodes", request.episodes, "default: as the job says")
      ->check(CLI::PositiveNumber);
  app.add_option("--output", request.output, "default: standard output");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = EvaluateRequest(request, {}, [](auto) {});
  if (status.ok()) return kExitDone;
  spdlog::error("{}", std::string(status.message()));
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status)
             ? kExitConfiguration
             : kExitFailed;
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--run")) {
      return flywheel::Alone(argc, argv);
    }
  }
  return flywheel::AsMember(argc, argv);
}
