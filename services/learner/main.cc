// Trains one job until its budget is used or it is told to stop.

#include <memory>

#include "services/learner/training_run.h"
#include "services/wire/service_process.h"
#include "services/wire/zmq_context_channel.h"

int main(int argc, char** argv) {
  return flywheel::RunService(
      flywheel::Role::kLearner, argc, argv,
      [](flywheel::ServiceContext& service) -> absl::Status {
        flywheel::ZmqContext context;
        absl::StatusOr<std::unique_ptr<flywheel::TrainingRun>> run =
            flywheel::TrainingRun::Start(service, context);
        if (!run.ok()) return run.status();
        return (*run)->Run();
      });
}
