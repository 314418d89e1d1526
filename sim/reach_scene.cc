#include "sim/reach_scene.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace flywheel::reach_scene {
namespace {

constexpr std::array<const char*, 4> kRgba = {
    "0.9 0.1 0.1 1", "0.1 0.75 0.15 1", "0.15 0.25 0.95 1", "0.95 0.85 0.1 1"};

// Nothing collides and nothing falls, so physics is cheap. Little tessellation
// and no shadows, so rendering is.
constexpr char kTemplate[] = R"(
<mujoco model="tabletop reach">
  <compiler angle="radian"/>
  <option timestep="0.01" gravity="0 0 0" integrator="implicitfast"/>
  <visual>
    <global offwidth="{image_size}" offheight="{image_size}"/>
    <quality offsamples="0" shadowsize="0" numslices="12" numstacks="6"/>
    <headlight ambient="0.5 0.5 0.5" diffuse="0.5 0.5 0.5" specular="0 0 0"/>
  </visual>
  <default>
    <geom contype="0" conaffinity="0" density="300"/>
    <joint type="hinge" damping="0.6" armature="0.01" limited="true"/>
    <position kp="12" kv="0.6"/>
  </default>
  <worldbody>
    <geom type="box" size="0.6 0.6 0.01" pos="0 0 -0.01" rgba="0.55 0.5 0.45 1"/>
    <camera name="top" pos="0 {camera_y} {camera_z}" fovy="{fovy}"/>
    <body name="turret" pos="0 {base_y} 0">
      <joint name="yaw" axis="0 0 1" range="-1.6 1.6"/>
      <geom type="cylinder" size="0.03 0.05" pos="0 0 0.05" rgba="0.25 0.25 0.28 1"/>
      <body name="upper arm" pos="0 0 {shoulder_z}">
        <joint name="shoulder" axis="1 0 0" range="-0.6 2.2"/>
        <geom type="capsule" size="0.013" fromto="0 0 0 0 {upper_arm} 0" rgba="0.8 0.8 0.82 1"/>
        <body name="forearm" pos="0 {upper_arm} 0">
          <joint name="elbow" axis="1 0 0" range="-2.6 0.2"/>
          <geom type="capsule" size="0.011" fromto="0 0 0 0 {forearm} 0" rgba="0.65 0.65 0.68 1"/>
          <geom type="sphere" size="0.016" pos="0 {forearm} 0" rgba="0.9 0.1 0.9 1"/>
          <site name="hand" pos="0 {forearm} 0"/>
        </body>
      </body>
    </body>
    {objects}
  </worldbody>
  <actuator>
    <position joint="yaw"/>
    <position joint="shoulder"/>
    <position joint="elbow"/>
  </actuator>
</mujoco>
)";

std::string Geom(std::size_t shape) {
  const double r = kObjectHalfSize;
  switch (shape) {
    case 0:
      return absl::StrCat("type=\"box\" size=\"", r, " ", r, " ", r, "\"");
    case 1:
      return absl::StrCat("type=\"sphere\" size=\"", r, "\"");
    default:
      return absl::StrCat("type=\"cylinder\" size=\"", kCylinderRadius, " ",
                          kCylinderHalfLength, "\" zaxis=\"1 0 0\"");
  }
}

std::string Objects() {
  std::string bodies;
  for (int kind = 0; kind < kKinds; ++kind) {
    absl::StrAppend(&bodies, "<body mocap=\"true\" name=\"", KindName(kind),
                    "\" pos=\"0 0 -5\"><geom ", Geom(kind % kShapes.size()),
                    " rgba=\"", kRgba[kind / kShapes.size()], "\"/></body>\n");
  }
  return bodies;
}

}  // namespace

std::string KindName(int kind) {
  return absl::StrCat(kColors[kind / kShapes.size()], " ",
                      kShapes[kind % kShapes.size()]);
}

std::string Mjcf() {
  return absl::StrReplaceAll(kTemplate,
                             {{"{image_size}", absl::StrCat(kImageSize)},
                              {"{camera_y}", absl::StrCat(kCameraY)},
                              {"{camera_z}", absl::StrCat(kCameraZ)},
                              {"{fovy}", absl::StrCat(kCameraFovyDegrees)},
                              {"{base_y}", absl::StrCat(kBaseY)},
                              {"{shoulder_z}", absl::StrCat(kShoulderZ)},
                              {"{upper_arm}", absl::StrCat(kUpperArm)},
                              {"{forearm}", absl::StrCat(kForearm)},
                              {"{objects}", Objects()}});
}

}  // namespace flywheel::reach_scene
