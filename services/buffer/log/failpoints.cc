#include "services/buffer/log/failpoints.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/core/mutex.h"

namespace flywheel {
namespace {

constexpr int kFailpointExitCode = 86;

struct Armed {
  int hits_left = 0;
  std::function<void()> action;
};

struct Registry {
  Mutex mutex;
  std::map<std::string, Armed, std::less<>> armed ABSL_GUARDED_BY(mutex);
};

Registry& TheRegistry() {
  static Registry& registry = *new Registry;  // Never destroyed: threads.
  return registry;
}

struct ParsedFailpoint {
  std::string name;
  int hit = 1;
  std::function<void()> action;
};

absl::StatusOr<ParsedFailpoint> ParseFailpoint(std::string_view text) {
  const auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "failpoint must read NAME=kill, NAME=exit or NAME=kill:HIT, got \"",
        std::string(text), "\""));
  };
  const std::vector<std::string> sides =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '=');
  if (sides.size() != 2 || sides[0].empty()) return refuse();
  const std::vector<std::string> action = absl::StrSplit(sides[1], ':');
  ParsedFailpoint parsed{.name = sides[0]};
  if (action.size() > 2) return refuse();
  if (action.size() == 2 &&
      (!absl::SimpleAtoi(action[1], &parsed.hit) || parsed.hit < 1)) {
    return refuse();
  }
  if (action[0] == "kill") {
    parsed.action = [] { KillThisProcess(); };
  } else if (action[0] == "exit") {
    parsed.action = [] { _exit(kFailpointExitCode); };
  } else {
    return refuse();
  }
  return parsed;
}

}  // namespace

void ArmFailpoint(std::string_view name, int hit,
                  std::function<void()> action) {
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mutex);
  registry.armed[std::string(name)] = {hit, std::move(action)};
  failpoints_internal::armed.store(true, std::memory_order_relaxed);
}

void DisarmFailpoints() {
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mutex);
  registry.armed.clear();
  failpoints_internal::armed.store(false, std::memory_order_relaxed);
}

void KillThisProcess() {
  kill(getpid(), SIGKILL);
  std::abort();  // Not reached.
}

absl::Status ArmFailpoints(std::string_view text) {
  std::vector<ParsedFailpoint> all;
  for (const absl::string_view one :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',',
                      absl::SkipEmpty())) {
    absl::StatusOr<ParsedFailpoint> parsed =
        ParseFailpoint({one.data(), one.size()});
    if (!parsed.ok()) return parsed.status();
    all.push_back(*std::move(parsed));
  }
  for (ParsedFailpoint& one : all) {
    ArmFailpoint(one.name, one.hit, std::move(one.action));
  }
  return absl::OkStatus();
}

absl::Status ArmFailpointsFromEnvironment() {
  static const absl::Status& status = *new absl::Status([] {
    const char* text = std::getenv("FLYWHEEL_FAILPOINTS");
    return text == nullptr ? absl::OkStatus() : ArmFailpoints(text);
  }());
  return status;
}

void failpoints_internal::Reach(std::string_view name) {
  std::function<void()> action;
  {
    Registry& registry = TheRegistry();
    MutexLock lock(registry.mutex);
    const auto found = registry.armed.find(name);
    if (found == registry.armed.end() || --found->second.hits_left > 0) return;
    action = std::move(found->second.action);
    registry.armed.erase(found);
  }
  action();
}

}  // namespace flywheel
