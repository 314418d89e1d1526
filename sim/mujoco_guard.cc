#include "sim/mujoco_guard.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

// Where an error of this thread goes, null outside of a guarded call, and what
// it said.
thread_local std::jmp_buf* error_target = nullptr;
thread_local char error_text[sizeof(mjLogMessage::subject)] = "";

void HandleMessage(const mjLogMessage* message) {
  if (message->level != mjLOG_ERROR) return;
  if (error_target == nullptr) {
    std::fprintf(stderr, "MuJoCo: %s\n", message->subject);
    std::abort();
  }
  std::snprintf(error_text, sizeof(error_text), "%s", message->subject);
  std::longjmp(*error_target, 1);  // NOLINT(modernize-avoid-setjmp-longjmp)
}

// The first of the warnings that mean a broken simulation, or mjNWARNING.
int DivergenceWarning(const mjData& data) {
  for (const int warning :
       {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL}) {
    if (data.warning[warning].number > 0) return warning;
  }
  return mjNWARNING;
}

}  // namespace

void TakeMujocoMessages() {
  static std::once_flag once;
  std::call_once(once, [] { mju_setLogHandler(HandleMessage); });
}

absl::Status GuardMujoco(absl::FunctionRef<void()> call) {
  TakeMujocoMessages();
  std::jmp_buf* const outer = error_target;
  std::jmp_buf target;
  if (setjmp(target) != 0) {  // NOLINT: the only way out of MuJoCo's C code.
    error_target = outer;
    return absl::InternalError(absl::StrCat("MuJoCo: ", error_text));
  }
  error_target = &target;
  call();
  error_target = outer;
  return absl::OkStatus();
}

absl::Status StepMujoco(const mjModel& model, mjData& data, int count) {
  absl::Status status = GuardMujoco([&] {
    for (int i = 0; i < count; ++i) mj_step(&model, &data);
  });
  if (!status.ok()) return status;
  const int warning = DivergenceWarning(data);
  if (warning == mjNWARNING) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the simulation diverged: ",
                   mju_warningText(warning, data.warning[warning].lastinfo)));
}

}  // namespace flywheel
