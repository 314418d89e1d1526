#include "services/orchestrator/control_service.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"
#include "services/wire/control_channel_client.h"

namespace flywheel {
namespace {

// For calls that are under way: they take milliseconds, but Watch never ends.
constexpr std::chrono::milliseconds kGrace{200};

}  // namespace

absl::StatusOr<std::unique_ptr<ControlService>> ControlService::Start(
    Orchestrator& orchestrator, const std::string& address) {
  std::unique_ptr<ControlService> started(new ControlService(orchestrator));
  grpc::ServerBuilder builder;
  // Two servers on one port would share its calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kControlMessageBytesMax);
  builder.SetMaxSendMessageSize(kControlMessageBytesMax);
  if (!address.empty()) {
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  }
  builder.RegisterService(&started->jobs_);
  builder.RegisterService(&started->membership_);
  started->server_ = builder.BuildAndStart();
  if (started->server_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("the orchestrator cannot listen on ", address));
  }
  return started;
}

ControlService::~ControlService() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  server_->Wait();
}

}  // namespace flywheel
