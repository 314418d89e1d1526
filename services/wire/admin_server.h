#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace prometheus {
class Registry;
}

namespace flywheel {

// Answers /metrics (Prometheus text) and /healthz on a loopback port of the
// system's choice, from its own thread. /healthz answers 200 "ok" while the
// work loop has called Beat() within the last 10 s, else 503 with a sentence.
//
// Thread-safe.
class AdminServer {
 public:
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      std::string_view process_name);

  virtual ~AdminServer() = default;  // Stops and joins.

  virtual int port() const = 0;
  virtual prometheus::Registry& registry() = 0;

  // The work loop turns. Cheap: call it every iteration.
  virtual void Beat() = 0;
};

}  // namespace flywheel
