#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace flywheel {

// No control message is larger; what is belongs to the data plane.
inline constexpr int kControlMessageBytesMax = 4 << 20;

// A channel to an orchestrator: "unix:/tmp/x/orchestrator.sock", "host:port".
// It connects on first use and again, within a second, whenever it broke.
std::shared_ptr<grpc::Channel> OpenControlChannel(const std::string& target);

// Every call gets one.
void SetDeadline(grpc::ClientContext& context, absl::Duration from_now);

}  // namespace flywheel
