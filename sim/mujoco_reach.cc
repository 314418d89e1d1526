#include "sim/mujoco_reach.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/mujoco_guard.h"
#include "sim/mujoco_renderer.h"
#include "sim/reach_scene.h"

namespace flywheel {
namespace {

using namespace reach_scene;  // NOLINT(google-build-using-namespace): its
                              // sizes.

constexpr int kMaxEpisodeSteps = 32;
constexpr double kRadiansPerAction = 0.2;
constexpr double kSuccessDistance = 0.04;
constexpr double kRewardPerMeter = 5.0;
constexpr double kSuccessReward = 1.0;

// Where objects may lie: polar coordinates around the base.
constexpr double kRadiusMin = 0.20;
constexpr double kRadiusMax = 0.40;
constexpr double kAngleMax = 0.68;
constexpr double kSpacing = 0.11;  // Between the centers of two objects.
constexpr double kParkedZ = -5;

// What makes the state of order 1.
constexpr double kVelocityScale = 3;    // Radians per second.
constexpr double kPositionScale = 0.2;  // Meters.

constexpr std::array<double, 3> kHome = {0.0, 1.9, -2.3};
constexpr std::array<double, 3> kHomeNoise = {0.5, 0.15, 0.15};

constexpr std::size_t kObjects = 3;

using Place = std::array<double, 2>;  // x, y on the table.

double DistanceBetween(const Place& a, const Place& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1]);
}

// Different (color, shape) pairs.
std::array<int, kObjects> DrawKinds(Random& random) {
  std::array<int, kKinds> kinds;
  std::iota(kinds.begin(), kinds.end(), 0);
  for (int i = 0; i < static_cast<int>(kObjects); ++i) {
    std::swap(kinds[i], kinds[i + random.Index(kKinds - i)]);
  }
  return {kinds[0], kinds[1], kinds[2]};
}

// Places within reach that keep their distance.
std::array<Place, kObjects> DrawPlaces(Random& random) {
  std::array<Place, kObjects> places;
  for (std::size_t i = 0; i < kObjects;) {
    const double radius = random.Uniform(kRadiusMin, kRadiusMax);
    const double angle = random.Uniform(-kAngleMax, kAngleMax);
    places[i] = {-radius * std::sin(angle), kBaseY + radius * std::cos(angle)};
    const bool apart =
        std::all_of(places.begin(), places.begin() + i, [&](const Place& p) {
          return DistanceBetween(p, places[i]) > kSpacing;
        });
    if (apart) ++i;
  }
  return places;
}

void MoveObject(mjData& data, int kind, const Place& place, double z) {
  mjtNum* position = data.mocap_pos + std::ptrdiff_t{3} * kind;
  position[0] = place[0];
  position[1] = place[1];
  position[2] = z;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Environment>> Reach::Make() {
  absl::StatusOr<MujocoModel> model = LoadModel();
  if (!model.ok()) return model.status();
  return std::make_unique<Reach>(*std::move(model));
}

absl::StatusOr<MujocoModel> Reach::LoadModel() {
  return LoadMujocoText("tabletop/reach", Mjcf());
}

Reach::Reach(MujocoModel model)
    : model_(std::move(model)), data_(MakeMujocoData(model_)) {}

TaskSpec Reach::Spec() {
  return {.name = "tabletop/reach",
          .observations = {{.name = "image",
                            .type = ElementType::kUint8,
                            .shape = {kImageSize, kImageSize, 3}},
                           {.name = "state", .shape = {kStateSize}}},
          .action_size = kJoints,
          .max_episode_steps = kMaxEpisodeSteps,
          .has_instruction = true,
          .has_success = true,
          .has_expert = true};
}

void Reach::Reset(uint64_t seed) {
  mj_resetData(model_.get(), data_.get());
  Random random(seed);
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    const double angle =
        kHome[joint] + random.Uniform(-kHomeNoise[joint], kHomeNoise[joint]);
    data_->qpos[joint] = angle;
    data_->ctrl[joint] = angle;
  }
  PlaceObjects(random);
  mj_forward(model_.get(), data_.get());
  distance_ = Distance();
  steps_ = 0;
}

// The first object is the goal.
void Reach::PlaceObjects(Random& random) {
  const std::array<int, kObjects> kinds = DrawKinds(random);
  const std::array<Place, kObjects> places = DrawPlaces(random);
  for (int i = 0; i < kKinds; ++i) MoveObject(*data_, i, {0, 0}, kParkedZ);
  for (std::size_t i = 0; i < kObjects; ++i) {
    MoveObject(*data_, kinds[i], places[i], kObjectHalfSize);
  }
  goal_ = {places[0][0], places[0][1], kGoalZ};
  instruction_ = absl::StrCat("reach the ", KindName(kinds[0]));
}

TimeStep Reach::Step(std::span<const float> action) {
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    const double ahead =
        kRadiansPerAction * std::clamp(action[joint], -1.0f, 1.0f);
    const mjtNum* range = &model_->jnt_range[2 * joint];
    data_->ctrl[joint] =
        std::clamp(data_->qpos[joint] + ahead, range[0], range[1]);
  }
  const absl::Status status = StepMujoco(*model_, *data_, kFrameSkip);
  if (!status.ok()) return {.status = status};
  mj_kinematics(model_.get(), data_.get());  // The hand lags a substep behind.
  const double distance = Distance();
  TimeStep step{.reward = kRewardPerMeter * (distance_ - distance)};
  distance_ = distance;
  ++steps_;
  step.success = distance < kSuccessDistance;
  step.terminated = step.success;
  step.truncated = !step.terminated && steps_ >= kMaxEpisodeSteps;
  if (step.success) step.reward += kSuccessReward;
  return step;
}

void Reach::Observe(std::span<const std::span<std::byte>> columns) {
  MujocoRenderer::ForThisThread(model_).Render(
      *data_, {.camera = 0, .width = kImageSize, .height = kImageSize},
      columns[0]);
  const std::array<float, kStateSize> state = State();
  std::memcpy(columns[1].data(), state.data(), sizeof(state));
}

std::array<float, Reach::kStateSize> Reach::State() const {
  std::array<double, kStateSize> state;
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    state[2 * joint] = std::sin(data_->qpos[joint]);
    state[2 * joint + 1] = std::cos(data_->qpos[joint]);
    state[6 + joint] = data_->qvel[joint] / kVelocityScale;
  }
  const mjtNum* hand = data_->site_xpos;
  state[9] = hand[0] / kPositionScale;
  state[10] = (hand[1] - kBaseY) / kPositionScale - 1;
  state[11] = hand[2] / kPositionScale - 1;
  std::array<float, kStateSize> narrow;
  std::transform(state.begin(), state.end(), narrow.begin(),
                 [](double value) { return static_cast<float>(value); });
  return narrow;
}

void Reach::ExpertAction(std::span<float> action) {
  const std::array<double, kJoints> goal = GoalAngles();
  for (std::size_t joint = 0; joint < kJoints; ++joint) {
    const double missing = goal[joint] - data_->qpos[joint];
    action[joint] =
        static_cast<float>(std::clamp(missing / kRadiansPerAction, -1.0, 1.0));
  }
}

double Reach::Distance() const {
  const mjtNum* hand = data_->site_xpos;
  return std::hypot(hand[0] - goal_[0], hand[1] - goal_[1], hand[2] - goal_[2]);
}

std::array<double, 2> Reach::GoalPixel() const {
  const double half_height =
      (kCameraZ - kObjectHalfSize) *
      std::tan(kCameraFovyDegrees * std::numbers::pi / 360);
  const double scale = kImageSize / (2 * half_height);
  return {kImageSize / 2.0 - (goal_[1] - kCameraY) * scale,
          kImageSize / 2.0 + goal_[0] * scale};
}

// Two links in the vertical plane of the goal, elbow up.
std::array<double, Reach::kJoints> Reach::GoalAngles() const {
  const double x = goal_[0];
  const double y = goal_[1] - kBaseY;
  const double out = std::hypot(x, y);
  const double up = goal_[2] - kShoulderZ;
  const double reach = std::hypot(out, up);
  const double cosine =
      (reach * reach - kUpperArm * kUpperArm - kForearm * kForearm) /
      (2 * kUpperArm * kForearm);
  const double elbow = -std::acos(std::clamp(cosine, -1.0, 1.0));
  const double shoulder =
      std::atan2(up, out) - std::atan2(kForearm * std::sin(elbow),
                                       kUpperArm + kForearm * std::cos(elbow));
  return {std::atan2(-x, y), shoulder, elbow};
}

}  // namespace flywheel
