#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

namespace flywheel {

// Values of JSON that came from a file, where anything may be missing or of
// another type.

// The value at `path`, or null.
const nlohmann::json& ValueAt(const nlohmann::json& json,
                              std::initializer_list<const char*> path);

// NaN if it is no number.
double NumberAt(const nlohmann::json& json,
                std::initializer_list<const char*> path);

// "" if it is no text.
std::string TextAt(const nlohmann::json& json,
                   std::initializer_list<const char*> path);

}  // namespace flywheel
