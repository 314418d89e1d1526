#include "services/orchestrator/local_placement.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "services/orchestrator/log_tail.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

}  // namespace

LocalPlacement::LocalPlacement(const Options& options)
    : options_(options),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {}

LocalPlacement::~LocalPlacement() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  Do([] {});  // Wakes the thread.
  thread_.join();
  close(wake_);
}

absl::Status LocalPlacement::Start(const ProcessOrder& order, OnEnd on_end) {
  // Shared: the thread may still be inside set_value() when get() returns.
  auto started = std::make_shared<std::promise<absl::Status>>();
  Do([this, &order, &on_end, started] {
    started->set_value(StartHere(order, std::move(on_end)));
  });
  return started->get_future().get();
}

void LocalPlacement::Stop(const PlacedProcess& process) {
  Signal(process, SIGTERM, 1);
}

void LocalPlacement::Kill(const PlacedProcess& process) {
  Signal(process, SIGKILL, -1);  // The whole process group.
}

void LocalPlacement::Signal(const PlacedProcess& process, int signal_number,
                            pid_t sign) {
  Do([this, process, signal_number, sign] {
    const auto found = running_.find(process);
    if (found == running_.end()) return;
    kill(sign * found->second.child.pid, signal_number);
  });
}

void LocalPlacement::Do(std::function<void()> task) {
  {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  const uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof(one)));
}

void LocalPlacement::Run() {
  while (!IsStopping()) {
    AwaitEvents();
    RunTasks();
  }
  RunTasks();  // A Start() that waits for its answer gets one.
  KillAll();
}

bool LocalPlacement::IsStopping() {
  MutexLock lock(mutex_);
  return stopping_;
}

void LocalPlacement::RunTasks() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

absl::Status LocalPlacement::StartHere(const ProcessOrder& order,
                                       OnEnd on_end) {
  const int64_t log_start = FileBytes(order.log_path);
  const absl::StatusOr<Child> child =
      StartChild({.program = options_.program_folder + "/" + order.program,
                  .arguments = order.arguments,
                  .environment = order.environment,
                  .log_path = order.log_path,
                  .inherited_fd = options_.inherited_fd});
  if (!child.ok()) return child.status();
  running_[order.process] = {.child = *child,
                             .on_end = std::move(on_end),
                             .log_path = order.log_path,
                             .log_start = log_start};
  return absl::OkStatus();
}

void LocalPlacement::AwaitEvents() {
  std::vector<pollfd> events = {{wake_, POLLIN, 0}};
  std::vector<PlacedProcess> processes;
  for (const auto& [process, running] : running_) {
    events.push_back({running.child.pidfd, POLLIN, 0});
    processes.push_back(process);
  }
  if (poll(events.data(), events.size(), /*timeout=*/-1) < 0) return;
  if (events[0].revents != 0) {
    uint64_t ignored = 0;
    static_cast<void>(!read(wake_, &ignored, sizeof(ignored)));
  }
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (events[i + 1].revents != 0) NoteEnd(processes[i]);
  }
}

void LocalPlacement::NoteEnd(const PlacedProcess& process) {
  const auto node = running_.extract(process);
  const Running& running = node.mapped();
  ProcessEnd end = ReapChild(running.child);
  close(running.child.pidfd);
  end.last_log_line = LastLogLine(running.log_path, running.log_start);
  running.on_end(process, end);
}

void LocalPlacement::KillAll() {
  for (const auto& [process, running] : running_) {
    kill(-running.child.pid, SIGKILL);
  }
  for (const auto& [process, running] : running_) {
    ReapChild(running.child);
    close(running.child.pidfd);
  }
  running_.clear();
}

std::string OwnProgramFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace flywheel
