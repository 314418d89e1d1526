// A service whose work is named by its --work flag, for service_process_test.

#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "services/core/mutex.h"
#include "services/wire/service_process.h"

namespace {

// Waits for the stop request.
absl::Status UntilStopped(flywheel::ServiceContext& service) {
  flywheel::Mutex mutex;
  flywheel::CondVar changed;
  const std::stop_callback wake(service.stop, [&] { changed.NotifyAll(); });
  std::puts("working");
  std::fflush(stdout);
  flywheel::MutexLock lock(mutex);
  while (!service.stop.stop_requested()) {
    changed.WaitFor(mutex, absl::Milliseconds(10));
  }
  return absl::OkStatus();
}

absl::Status Work(const std::string& name, flywheel::ServiceContext& service) {
  if (name == "wait") return UntilStopped(service);
  if (name == "task") {
    std::puts(service.assignment.job.task.c_str());
    return absl::OkStatus();
  }
  if (name == "throw") throw std::runtime_error("out of paper");
  if (name == "invalid") return absl::InvalidArgumentError("no such device");
  if (name == "unavailable") return absl::UnavailableError("buffer is away");
  return absl::InternalError("broken");
}

}  // namespace

int main(int argc, char** argv) {
  std::string work;
  const flywheel::ServiceFlag flags[] = {{"--work", "what to do", &work}};
  return flywheel::RunService(
      flywheel::Role::kRollout, argc, argv,
      [&](flywheel::ServiceContext& service) { return Work(work, service); },
      flags);
}
