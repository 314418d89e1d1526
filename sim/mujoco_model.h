#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mujoco/mujoco.h"

namespace flywheel {

struct MujocoModelDeleter {
  void operator()(mjModel* model) const { mj_deleteModel(model); }
};
struct MujocoDataDeleter {
  void operator()(mjData* data) const { mj_deleteData(data); }
};
using MujocoData = std::unique_ptr<mjData, MujocoDataDeleter>;

// A compiled model, read-only and shared by every environment and renderer of
// its task in this process.
using MujocoModel = std::shared_ptr<const mjModel>;

// Loads and compiles the MJCF file `path`. Internal, with MuJoCo's own words,
// if it does not.
absl::StatusOr<MujocoModel> LoadMujocoFile(const std::string& path);

// The same for MJCF text; `name` is for error messages.
absl::StatusOr<MujocoModel> LoadMujocoText(const std::string& name,
                                           const std::string& mjcf);

MujocoData MakeMujocoData(const MujocoModel& model);

}  // namespace flywheel
