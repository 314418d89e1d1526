#include "sim/mujoco_model.h"

#include <cstdio>
#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/mujoco_guard.h"

namespace flywheel {
namespace {

constexpr int kErrorBytes = 1000;

// Compiled models by name, for as long as somebody holds them. MuJoCo's
// compiler is not promised to be thread-safe, so the lock covers it.
struct ModelCache {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const mjModel>> models;
};

ModelCache& Cache() {
  static auto& cache = *new ModelCache;  // Never destroyed: threads may outlive
  return cache;                          // main().
}

template <typename Compile>
absl::StatusOr<MujocoModel> Load(const std::string& name, Compile compile) {
  TakeMujocoMessages();
  ModelCache& cache = Cache();
  const std::lock_guard lock(cache.mutex);
  if (MujocoModel model = cache.models[name].lock()) return model;
  char error[kErrorBytes] = "";
  mjModel* compiled = compile(error);
  if (compiled == nullptr) {
    return absl::InternalError(
        absl::StrCat("cannot compile model ", name, ": ", error));
  }
  MujocoModel model(compiled, MujocoModelDeleter());
  cache.models[name] = model;
  return model;
}

}  // namespace

absl::StatusOr<MujocoModel> LoadMujocoFile(const std::string& path) {
  return Load(path, [&](char* error) {
    return mj_loadXML(path.c_str(), nullptr, error, kErrorBytes);
  });
}

absl::StatusOr<MujocoModel> LoadMujocoText(const std::string& name,
                                           const std::string& mjcf) {
  return Load(name, [&](char* error) -> mjModel* {
    mjSpec* spec = mj_parseXMLString(mjcf.c_str(), nullptr, error, kErrorBytes);
    if (spec == nullptr) return nullptr;
    mjModel* model = mj_compile(spec, nullptr);
    if (model == nullptr) {
      std::snprintf(error, kErrorBytes, "%s", mjs_getError(spec));
    }
    mj_deleteSpec(spec);
    return model;
  });
}

MujocoData MakeMujocoData(const MujocoModel& model) {
  return MujocoData(mj_makeData(model.get()));
}

}  // namespace flywheel
