#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace flywheel {

// The orchestrator of one run, inside its launcher's process: a gRPC server on
// a Unix socket in a private folder, jobs stored in the run folder, services as
// child processes on this machine. `flywheel train` is a client of it like any
// other, by target().
//
// Block signals before it is constructed: its threads must not take them.
// Thread-safe.
class EmbeddedOrchestrator {
 public:
  struct Options {
    std::string run_folder;      // Absolute; created.
    std::string program_folder;  // Of the services; empty: this program's own.
    // How long services of a former run in this folder may take to end.
    absl::Duration lock_limit = absl::Seconds(30);
  };

  // Unavailable: the run folder is in use or cannot be written, no place for
  // sockets. DataLoss: its job store is damaged.
  static absl::StatusOr<std::unique_ptr<EmbeddedOrchestrator>> Start(
      const Options& options);

  // Shutdown() with a limit of 10 s.
  virtual ~EmbeddedOrchestrator() = default;

  // Where JobsClient finds it: "unix:/tmp/flywheel-1-x/orchestrator.sock".
  virtual const std::string& target() const = 0;

  // Cancels what still runs, waits for it at most `limit`, then ends every
  // process and removes the sockets. The second call does nothing.
  virtual void Shutdown(absl::Duration limit) = 0;
};

}  // namespace flywheel
