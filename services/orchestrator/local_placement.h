#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "services/core/mutex.h"
#include "services/orchestrator/child_process.h"
#include "services/orchestrator/placement.h"

namespace flywheel {

// Runs services as child processes on this machine.
//
// One thread starts them and hears of their ends at once, by pidfd; it lives as
// long as this object, because children die with the thread that forked them.
// When this process is killed, the kernel sends them SIGTERM. Thread-safe.
class LocalPlacement final : public Placement {
 public:
  struct Options {
    std::string program_folder;  // Where the services' binaries are.
    int inherited_fd = -1;       // Kept open in every child; -1: none.
  };

  explicit LocalPlacement(const Options& options);
  ~LocalPlacement() override;  // Kills and reaps what is left.

  absl::Status Start(const ProcessOrder& order, OnEnd on_end) override;
  void Stop(const PlacedProcess& process) override;
  void Kill(const PlacedProcess& process) override;

 private:
  struct Running {
    Child child;
    OnEnd on_end;
    std::string log_path;
    int64_t log_start = 0;  // Its size when this life began.
  };

  void Do(std::function<void()> task);  // On the thread, later.
  void Signal(const PlacedProcess& process, int signal_number, pid_t sign);

  // The thread.
  void Run();
  void RunTasks();
  bool IsStopping();
  absl::Status StartHere(const ProcessOrder& order, OnEnd on_end);
  void AwaitEvents();
  void NoteEnd(const PlacedProcess& process);
  void KillAll();

  // Constant after construction.
  const Options options_;
  int wake_ = -1;  // An eventfd: there are tasks.

  Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::map<PlacedProcess, Running> running_;  // The thread's own.
  std::thread thread_;
};

// The folder of this process's own binary: services are found beside it.
std::string OwnProgramFolder();

}  // namespace flywheel
