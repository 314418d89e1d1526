#include "services/wire/zmq_context_channel.h"

#include <zmq.hpp>

namespace flywheel {

// One thread moves the bytes of all channels; it copies gigabytes per second.
struct ZmqContext::Impl {
  zmq::context_t context{1};
};

ZmqContext::ZmqContext() : impl_(std::make_unique<Impl>()) {}

// Waits for what closed channels still send, at most their linger time.
ZmqContext::~ZmqContext() = default;

void* ZmqContext::handle() const { return &impl_->context; }

}  // namespace flywheel
