#include "sim/environment_pool.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/execute_request.h"
#include "sim/request_queue.h"
#include "sim/result_queue.h"
#include "sim/task_registry.h"

namespace flywheel {
namespace {

constexpr int kMaxEnvironments = 1 << 20;
constexpr int kMaxThreads = 4096;

[[noreturn]] void RefuseRequest(int environment, std::string_view why) {
  std::fprintf(stderr, "EnvironmentPool::Submit: environment %d %.*s\n",
               environment, static_cast<int>(why.size()), why.data());
  std::abort();
}

// What both kinds of pool share: the environments, and which are busy.
class PoolBase : public EnvironmentPool {
 public:
  explicit PoolBase(std::vector<std::unique_ptr<Environment>> environments)
      : environments_(std::move(environments)),
        busy_(environments_.size(), false) {}

  const TaskSpec& spec() const final { return environments_.front()->spec(); }
  int num_environments() const final {
    return static_cast<int>(environments_.size());
  }
  std::size_t outstanding() const final { return outstanding_; }

 protected:
  // Marks the request's environment busy, once the request makes sense.
  void Take(const EnvironmentRequest& request) {
    const int index = request.environment;
    if (index < 0 || index >= num_environments()) {
      RefuseRequest(index, "is out of range");
    }
    if (busy_[index]) RefuseRequest(index, "has a request outstanding");
    CheckSpans(request);
    busy_[index] = true;
    ++outstanding_;
  }

  void Release(int environment) {
    busy_[environment] = false;
    --outstanding_;
  }

  EnvironmentResult Execute(const EnvironmentRequest& request) {
    return ExecuteRequest(*environments_[request.environment], request);
  }

 private:
  void CheckSpans(const EnvironmentRequest& request) const {
    const auto num_steps =
        static_cast<std::size_t>(std::max(request.num_steps, 0));
    if (request.actions.size() < num_steps * spec().action_size ||
        request.rewards.size() < num_steps) {
      RefuseRequest(request.environment,
                    "got fewer actions or rewards than num_steps");
    }
    if (!request.expert_noise.empty() &&
        request.expert_noise.size() < num_steps * spec().action_size) {
      RefuseRequest(request.environment,
                    "got less expert_noise than num_steps");
    }
    if (request.observation.empty()) return;
    const auto& observations = spec().observations;
    const auto fits = [](std::span<std::byte> column,
                         const ObservationSpec& observation) {
      return column.size() == observation.bytes();
    };
    if (!std::equal(request.observation.begin(), request.observation.end(),
                    observations.begin(), observations.end(), fits)) {
      RefuseRequest(request.environment,
                    "got observation columns unlike the spec's");
    }
  }

  const std::vector<std::unique_ptr<Environment>> environments_;
  std::vector<bool> busy_;
  std::size_t outstanding_ = 0;
};

// Works in the thread that receives.
class InlinePool final : public PoolBase {
 public:
  using PoolBase::PoolBase;

  void Submit(EnvironmentRequest request) override {
    Take(request);
    requests_.push_back(std::move(request));
  }

  void Receive(std::size_t min_results,
               std::vector<EnvironmentResult>& results) override {
    for (std::size_t i = 0; i < min_results && !requests_.empty(); ++i) {
      results.push_back(Execute(requests_.front()));
      Release(requests_.front().environment);
      requests_.pop_front();
    }
  }

 private:
  std::deque<EnvironmentRequest> requests_;
};

// Works in threads of its own, each with its own queue and environments.
class ThreadedPool final : public PoolBase {
 public:
  ThreadedPool(std::vector<std::unique_ptr<Environment>> environments,
               int num_threads)
      : PoolBase(std::move(environments)), queues_(num_threads) {
    for (RequestQueue& queue : queues_) {
      threads_.emplace_back([this, &queue] {
        EnvironmentRequest request;
        while (queue.Pop(request)) results_.Push(Execute(request));
      });
    }
  }

  ~ThreadedPool() override {
    for (RequestQueue& queue : queues_) queue.Close();
  }

  void Submit(EnvironmentRequest request) override {
    Take(request);
    RequestQueue& queue = queues_[request.environment % queues_.size()];
    queue.Push(std::move(request));
  }

  void Receive(std::size_t min_results,
               std::vector<EnvironmentResult>& results) override {
    const std::size_t first = results.size();
    results_.PopAll(std::min(min_results, outstanding()), results);
    for (std::size_t i = first; i < results.size(); ++i) {
      Release(results[i].environment);
    }
  }

 private:
  std::vector<RequestQueue> queues_;
  ResultQueue results_;
  std::vector<std::jthread> threads_;  // Last member: joined first.
};

absl::Status CheckRange(const char* name, int value, int least, int most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " must be from ", least, " to ", most, ", got ", value));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnvironmentPool>> EnvironmentPool::Create(
    const Options& options) {
  return Create(options, [&](int) { return MakeEnvironment(options.task); });
}

absl::StatusOr<std::unique_ptr<EnvironmentPool>> EnvironmentPool::Create(
    const Options& options, const Factory& make) {
  absl::Status status = CheckRange("num_environments", options.num_environments,
                                   1, kMaxEnvironments);
  if (status.ok()) {
    status = CheckRange("num_threads", options.num_threads, 0, kMaxThreads);
  }
  if (!status.ok()) return status;
  std::vector<std::unique_ptr<Environment>> environments;
  for (int i = 0; i < options.num_environments; ++i) {
    absl::StatusOr<std::unique_ptr<Environment>> environment = make(i);
    if (!environment.ok()) return environment.status();
    environments.push_back(*std::move(environment));
  }
  if (options.num_threads == 0) {
    return std::make_unique<InlinePool>(std::move(environments));
  }
  return std::make_unique<ThreadedPool>(std::move(environments),
                                        options.num_threads);
}

}  // namespace flywheel
