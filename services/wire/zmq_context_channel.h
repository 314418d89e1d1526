#pragma once

#include <memory>

namespace flywheel {

// The process's ZeroMQ threads. Thread-safe. Must outlive every channel.
class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

  // The zmq::context_t, for the channels of this folder.
  void* handle() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace flywheel
