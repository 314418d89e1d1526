#include "sim/mujoco_half_cheetah.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/mujoco_guard.h"
#include "sim/random.h"

namespace flywheel {
namespace {

constexpr double kControlCost = 0.1;
constexpr double kResetNoise = 0.1;
constexpr int kMaxEpisodeSteps = 1000;
constexpr int kActionSize = 6;
constexpr int kObservationSize = 17;

// The wheel that was found when this was built, unless the environment names
// another folder.
std::string ModelPath() {
  // Read once, before any thread could change the environment.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* folder = std::getenv("FLYWHEEL_GYMNASIUM_ASSETS");
  return std::string(folder != nullptr ? folder : FLYWHEEL_GYMNASIUM_ASSETS) +
         "/half_cheetah.xml";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> HalfCheetah::Make() {
  absl::StatusOr<MujocoModel> model = LoadModel();
  if (!model.ok()) return model.status();
  return std::make_unique<HalfCheetah>(*std::move(model));
}

absl::StatusOr<MujocoModel> HalfCheetah::LoadModel() {
  static const std::string& path = *new std::string(ModelPath());
  absl::StatusOr<MujocoModel> model = LoadMujocoFile(path);
  if (model.ok()) return model;
  return absl::InternalError(
      absl::StrCat(model.status().message(),
                   " (set FLYWHEEL_GYMNASIUM_ASSETS to the folder of "
                   "gymnasium's MuJoCo assets)"));
}

HalfCheetah::HalfCheetah(MujocoModel model)
    : model_(std::move(model)), data_(MakeMujocoData(model_)) {}

TaskSpec HalfCheetah::Spec() {
  return {.name = "gymnasium:HalfCheetah-v5",
          .observations = {{.name = "state", .shape = {kObservationSize}}},
          .action_size = kActionSize,
          .max_episode_steps = kMaxEpisodeSteps};
}

void HalfCheetah::Reset(uint64_t seed) {
  Random random(seed);
  mj_resetData(model_.get(), data_.get());
  for (int i = 0; i < model_->nq; ++i) {
    data_->qpos[i] += random.Uniform(-kResetNoise, kResetNoise);
  }
  for (int i = 0; i < model_->nv; ++i) {
    data_->qvel[i] += kResetNoise * random.Normal();
  }
  mj_forward(model_.get(), data_.get());
  steps_ = 0;
}

TimeStep HalfCheetah::Step(std::span<const float> action) {
  const double x_before = data_->qpos[0];
  // The sum of squares is float32, as NumPy makes it of float32 actions.
  float squares = 0;
  for (int i = 0; i < kActionSize; ++i) {
    const float control = std::clamp(action[i], -1.0f, 1.0f);
    data_->ctrl[i] = control;
    squares += control * control;
  }
  const absl::Status status = StepMujoco(*model_, *data_, kFrameSkip);
  if (!status.ok()) return {.status = status};
  const double dt = model_->opt.timestep * kFrameSkip;
  const double velocity = (data_->qpos[0] - x_before) / dt;
  ++steps_;
  return {.reward = velocity - static_cast<float>(kControlCost) * squares,
          .truncated = steps_ >= kMaxEpisodeSteps};
}

void HalfCheetah::Observe(std::span<const std::span<std::byte>> columns) {
  float observation[kObservationSize];
  std::copy_n(data_->qpos + 1, 8, observation);
  std::copy_n(data_->qvel, 9, observation + 8);
  std::memcpy(columns[0].data(), observation, sizeof(observation));
}

// No expert for this task: spec().has_expert is false.
void HalfCheetah::ExpertAction(std::span<float> action) {
  std::fill(action.begin(), action.end(), 0.0f);
}

void HalfCheetah::SetState(std::span<const double> qpos,
                           std::span<const double> qvel) {
  mj_resetData(model_.get(), data_.get());
  std::copy(qpos.begin(), qpos.end(), data_->qpos);
  std::copy(qvel.begin(), qvel.end(), data_->qvel);
  mj_forward(model_.get(), data_.get());
  steps_ = 0;
}

std::vector<double> HalfCheetah::Observation() const {
  std::vector<double> observation(data_->qpos + 1, data_->qpos + 9);
  observation.insert(observation.end(), data_->qvel, data_->qvel + 9);
  return observation;
}

}  // namespace flywheel
