#pragma once

#include <array>
#include <string>

namespace flywheel {

// The scene of tabletop/reach: its sizes, and its MJCF.
//
// Meters and radians. The base stands at (0, kBaseY, 0); at yaw 0 the arm
// points along +y. Every (color, shape) pair, a kind of object, is a mocap
// body, and its number the index of that body; those an episode does not use
// are parked outside the view.
namespace reach_scene {

inline constexpr double kBaseY = -0.25;
inline constexpr double kShoulderZ = 0.10;
inline constexpr double kUpperArm = 0.22;
inline constexpr double kForearm = 0.22;
inline constexpr double kObjectHalfSize = 0.027;  // Of cubes and balls.
inline constexpr double kCylinderRadius = 0.02;   // Cylinders lie along x.
inline constexpr double kCylinderHalfLength = 0.038;
inline constexpr double kGoalZ = 0.07;  // Just above an object.
inline constexpr double kCameraY = 0.02;
inline constexpr double kCameraZ = 0.85;
inline constexpr double kCameraFovyDegrees = 38;
inline constexpr int kImageSize = 64;

inline constexpr std::array<const char*, 4> kColors = {"red", "green", "blue",
                                                       "yellow"};
inline constexpr std::array<const char*, 3> kShapes = {"cube", "ball",
                                                       "cylinder"};

inline constexpr int kKinds = kColors.size() * kShapes.size();

// "red cube"; `kind` in [0, kKinds).
std::string KindName(int kind);

// The MJCF text.
std::string Mjcf();

}  // namespace reach_scene
}  // namespace flywheel
