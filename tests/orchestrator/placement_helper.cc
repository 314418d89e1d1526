// Starts a child through a LocalPlacement and waits to be killed: what a
// launcher is to its services. The child writes its process id to the log file
// named by the one argument.

#include <unistd.h>

#include "services/orchestrator/local_placement.h"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  flywheel::LocalPlacement placement({.program_folder = "/bin"});
  const absl::Status status = placement.Start(
      {.process = {.job_id = "j", .incarnation = 1},
       .program = "sh",
       .arguments = {"-c", "echo $$; exec sleep 100"},
       .log_path = argv[1]},
      [](const flywheel::PlacedProcess&, const flywheel::ProcessEnd&) {});
  if (!status.ok()) return 1;
  for (;;) pause();
}
