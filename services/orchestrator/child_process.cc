#include "services/orchestrator/child_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
extern "C" {  // The header of glibc 2.36 forgets it.
#include <sys/pidfd.h>
}
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "services/core/exit_code.h"
#include "services/wire/launcher_pid.h"

namespace flywheel {
namespace {

constexpr int kExitNotExecuted = 127;  // As a shell says it.

// Everything the child needs, made before fork(): after it, in a process that
// had several threads, only async-signal-safe calls are allowed.
struct Image {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
  int log = -1;
  int empty_input = -1;
  int failure = -1;  // Pipe: errno of what went wrong before exec.
  int inherited = -1;
  pid_t launcher = 0;
};

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

std::vector<std::string> MergedEnvironment(
    const std::vector<std::string>& added) {
  std::vector<std::string> merged = added;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool replaced = std::any_of(
        added.begin(), added.end(),
        [&](const std::string& a) { return NameOf(a) == NameOf(*variable); });
    if (!replaced) merged.emplace_back(*variable);
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child. Never returns.
[[noreturn]] void Become(const Image& image) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != image.launcher) _exit(kExitTryAgain);  // It died just now.
  for (const int signal_number : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT}) {
    std::signal(signal_number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(image.empty_input, STDIN_FILENO);
  dup2(image.log, STDOUT_FILENO);
  dup2(image.log, STDERR_FILENO);
  // What libraries opened without O_CLOEXEC is not the child's.
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (image.inherited >= 0) fcntl(image.inherited, F_SETFD, 0);
  execve(image.argv[0], image.argv.data(), image.envp.data());
  const int error = errno;
  static_cast<void>(!write(image.failure, &error, sizeof(error)));
  _exit(kExitNotExecuted);
}

// The errno of a failed exec; 0 once the child runs its program.
int AwaitExec(int pipe) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(pipe, &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  return got == sizeof(error) ? error : 0;
}

absl::Status CannotStart(const std::string& program, int error) {
  const std::string sentence =
      absl::StrCat("cannot start ", program, ": ", std::strerror(error));
  const bool is_there = error != ENOENT && error != EACCES &&
                        error != ENOEXEC && error != ENOTDIR;
  return is_there ? absl::UnavailableError(sentence)
                  : absl::NotFoundError(sentence);
}

// Closes descriptors at the end of a scope.
struct Closing {
  ~Closing() {
    for (const int descriptor : descriptors) {
      if (descriptor >= 0) close(descriptor);
    }
  }
  std::vector<int> descriptors;
};

absl::StatusOr<Child> Fork(const Image& image, int failure_read) {
  const std::string& program = image.arguments.front();
  const pid_t pid = fork();
  if (pid == 0) Become(image);
  const int fork_error = errno;
  close(image.failure);  // The child's is the last one: its exec ends the pipe.
  if (pid < 0) return CannotStart(program, fork_error);
  setpgid(pid, pid);  // Whichever of the two comes first.
  const int error = AwaitExec(failure_read);
  const int pidfd = error == 0 ? pidfd_open(pid, 0) : -1;
  if (pidfd >= 0) return Child{.pid = pid, .pidfd = pidfd};
  const absl::Status status = CannotStart(program, error == 0 ? errno : error);
  kill(-pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return status;
}

}  // namespace

absl::StatusOr<Child> StartChild(const ChildOptions& options) {
  Image image;
  image.arguments = {options.program};
  image.arguments.insert(image.arguments.end(), options.arguments.begin(),
                         options.arguments.end());
  image.launcher = getpid();
  std::vector<std::string> added = options.environment;
  added.push_back(absl::StrCat(kLauncherPidVariable, "=", image.launcher));
  image.environment = MergedEnvironment(added);
  image.argv = Pointers(image.arguments);
  image.envp = Pointers(image.environment);
  image.inherited = options.inherited_fd;

  Closing closing;
  image.log = open(options.log_path.c_str(),
                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (image.log < 0) {
    return absl::UnavailableError(absl::StrCat(
        "cannot write the log ", options.log_path, ": ", std::strerror(errno)));
  }
  closing.descriptors.push_back(image.log);
  image.empty_input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  closing.descriptors.push_back(image.empty_input);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    return CannotStart(options.program, errno);
  }
  closing.descriptors.push_back(failure[0]);
  image.failure = failure[1];  // Fork() closes it.
  return Fork(image, failure[0]);
}

ProcessEnd ReapChild(const Child& child) {
  // Until it is waited for, nobody else can have its number.
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(child.pid), &ended,
                WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  kill(-child.pid, SIGKILL);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_code = WEXITSTATUS(status)};
}

}  // namespace flywheel
