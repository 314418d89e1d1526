#include "services/wire/membership_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flywheel/v1/membership.grpc.pb.h"
#include "services/core/mutex.h"
#include "services/core/status_macros.h"
#include "services/wire/control_channel_client.h"
#include "services/wire/membership_codec.h"
#include "services/wire/status_codec.h"

namespace flywheel {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr absl::Duration kHeartbeatInterval = absl::Milliseconds(500);

// More often while a member is new: how long a replacement took to produce
// again is measured by these.
constexpr absl::Duration kNew = absl::Seconds(5);
constexpr absl::Duration kNewHeartbeatInterval = absl::Milliseconds(100);

constexpr absl::Duration kCallDeadline = absl::Seconds(2);
constexpr absl::Duration kLastCallDeadline = absl::Seconds(1);
constexpr absl::Duration kRetryPause = absl::Milliseconds(100);

absl::Duration Since(SteadyClock::time_point start) {
  return absl::FromChrono(SteadyClock::now() - start);
}

bool IsWorthAnotherTry(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kDeadlineExceeded;
}

class GrpcMembershipClient final : public MembershipClient {
 public:
  GrpcMembershipClient(const Options& options, std::stop_source stop)
      : options_(options),
        stub_(
            v1::Membership::NewStub(OpenControlChannel(options.orchestrator))),
        stop_(std::move(stop)) {}

  ~GrpcMembershipClient() override {
    {
      MutexLock lock(mutex_);
      quitting_ = true;
      changed_.NotifyAll();
    }
    if (thread_.joinable()) thread_.join();
  }

  // Registers and starts the heartbeat thread.
  absl::Status Join() {
    const SteadyClock::time_point started = SteadyClock::now();
    for (;;) {
      absl::StatusOr<Assignment> assignment = Register();
      if (assignment.ok()) {
        assignment_ = *std::move(assignment);
        joined_ = SteadyClock::now();
        thread_ = std::thread([this] { Run(); });
        return absl::OkStatus();
      }
      if (!IsWorthAnotherTry(assignment.status())) return assignment.status();
      if (stop_.stop_requested() || Since(started) > options_.join_limit) {
        return absl::UnavailableError(
            absl::StrCat("could not join job ", options_.job_id, " at ",
                         options_.orchestrator, " within ",
                         absl::FormatDuration(Since(started)), ": ",
                         assignment.status().message()));
      }
      MutexLock lock(mutex_);
      changed_.WaitFor(mutex_, kRetryPause);
    }
  }

  const Assignment& assignment() const override { return assignment_; }

  void Report(MemberStatus status) override {
    MutexLock lock(mutex_);
    status_ = std::move(status);
    ++reported_;
  }

  absl::Status ReportNow(MemberStatus status, absl::Duration timeout) override {
    const SteadyClock::time_point started = SteadyClock::now();
    MutexLock lock(mutex_);
    status_ = std::move(status);
    const uint64_t number = ++reported_;
    urgent_ = true;
    changed_.NotifyAll();
    while (answered_ < number && !silent_) {
      const absl::Duration left = timeout - Since(started);
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(absl::StrCat(
            "orchestrator at ", options_.orchestrator,
            " did not answer a status within ", absl::FormatDuration(timeout)));
      }
      changed_.WaitFor(mutex_, left);
    }
    return answered_ >= number
               ? absl::OkStatus()
               : absl::UnavailableError(absl::StrCat(
                     "no longer a member of job ", options_.job_id));
  }

  EndReason end_reason() const override {
    MutexLock lock(mutex_);
    return end_reason_;
  }

 private:
  // What the next heartbeat carries.
  struct Turn {
    MemberStatus status;
    uint64_t number = 0;
    bool last = false;
  };

  // The heartbeat thread.
  void Run() {
    SteadyClock::time_point heard = SteadyClock::now();
    for (;;) {
      const Turn turn = AwaitTurn();
      const absl::StatusOr<Directive> directive = Send(turn);
      if (directive.ok()) {
        heard = SteadyClock::now();
        Obey(*directive, turn.number);
      } else if (directive.status().code() == absl::StatusCode::kNotFound) {
        // A new orchestrator, which has yet to hear of this member. If it
        // refuses, the silence goes on.
        static_cast<void>(Register());
      }
      if (turn.last) return;
      if (Since(heard) > options_.silence_limit) {
        End(EndReason::kOrchestratorGone);
      }
      if (IsSilent()) return;
    }
  }

  // Waits until a heartbeat is due, a status is urgent, or the end has come.
  Turn AwaitTurn() {
    const SteadyClock::time_point started = SteadyClock::now();
    const absl::Duration interval =
        Since(joined_) < kNew ? kNewHeartbeatInterval : kHeartbeatInterval;
    MutexLock lock(mutex_);
    while (!quitting_ && !urgent_) {
      const absl::Duration left = interval - Since(started);
      if (left <= absl::ZeroDuration()) break;
      changed_.WaitFor(mutex_, left);
    }
    urgent_ = false;
    return {.status = status_, .number = reported_, .last = quitting_};
  }

  absl::StatusOr<Directive> Send(const Turn& turn) {
    grpc::ClientContext context;
    SetDeadline(context, turn.last ? kLastCallDeadline : kCallDeadline);
    v1::HeartbeatResponse response;
    const grpc::Status status =
        stub_->Heartbeat(&context,
                         HeartbeatToProto({.job_id = options_.job_id,
                                           .member = options_.member,
                                           .status = turn.status}),
                         &response);
    if (!status.ok()) return FromGrpcStatus(status);
    return DirectiveFromProto(response.directive());
  }

  absl::StatusOr<Assignment> Register() {
    v1::RegisterRequest request;
    request.set_job_id(options_.job_id);
    *request.mutable_member() = MemberToProto(options_.member);
    request.set_pid(getpid());
    request.set_admin_port(options_.admin_port);
    grpc::ClientContext context;
    SetDeadline(context, kCallDeadline);
    context.set_wait_for_ready(true);
    v1::RegisterResponse response;
    const grpc::Status status = stub_->Register(&context, request, &response);
    if (!status.ok()) return FromGrpcStatus(status);
    return AssignmentFromProto(response);
  }

  void Obey(Directive directive, uint64_t number) {
    {
      MutexLock lock(mutex_);
      answered_ = std::max(answered_, number);
      changed_.NotifyAll();
    }
    if (directive == Directive::kDrain) End(EndReason::kDrain);
    if (directive == Directive::kFenced) End(EndReason::kFenced);
  }

  // Remembers why and asks the process to stop. After a drain heartbeats go on
  // until the work has ended; after the others there is nobody to tell.
  void End(EndReason reason) {
    {
      MutexLock lock(mutex_);
      if (end_reason_ == EndReason::kNone || reason == EndReason::kFenced) {
        end_reason_ = reason;
      }
      silent_ = silent_ || reason != EndReason::kDrain;
      changed_.NotifyAll();
    }
    stop_.request_stop();  // Runs callbacks: not under the lock.
  }

  bool IsSilent() const {
    MutexLock lock(mutex_);
    return silent_;
  }

  // Constant after Join().
  const Options options_;
  const std::unique_ptr<v1::Membership::Stub> stub_;
  std::stop_source stop_;
  Assignment assignment_;
  SteadyClock::time_point joined_;

  mutable Mutex mutex_;
  CondVar changed_;
  MemberStatus status_ ABSL_GUARDED_BY(mutex_);
  uint64_t reported_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of the newest.
  uint64_t answered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool urgent_ ABSL_GUARDED_BY(mutex_) = true;  // The first goes out at once.
  bool quitting_ ABSL_GUARDED_BY(mutex_) = false;
  bool silent_ ABSL_GUARDED_BY(mutex_) = false;  // No more heartbeats.
  EndReason end_reason_ ABSL_GUARDED_BY(mutex_) = EndReason::kNone;

  std::thread thread_;  // Heartbeats.
};

}  // namespace

absl::StatusOr<std::unique_ptr<MembershipClient>> MembershipClient::Join(
    const Options& options, std::stop_source stop) {
  auto client =
      std::make_unique<GrpcMembershipClient>(options, std::move(stop));
  FLYWHEEL_RETURN_IF_ERROR(client->Join());
  return client;
}

}  // namespace flywheel
