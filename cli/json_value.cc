#include "cli/json_value.h"

#include <limits>

namespace flywheel {

const nlohmann::json& ValueAt(const nlohmann::json& json,
                              std::initializer_list<const char*> path) {
  static const nlohmann::json& null = *new nlohmann::json();
  const nlohmann::json* value = &json;
  for (const char* const name : path) {
    const auto found = value->is_object() ? value->find(name) : value->end();
    if (found == value->end()) return null;
    value = &*found;
  }
  return *value;
}

double NumberAt(const nlohmann::json& json,
                std::initializer_list<const char*> path) {
  const nlohmann::json& value = ValueAt(json, path);
  return value.is_number() ? value.get<double>()
                           : std::numeric_limits<double>::quiet_NaN();
}

std::string TextAt(const nlohmann::json& json,
                   std::initializer_list<const char*> path) {
  const nlohmann::json& value = ValueAt(json, path);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace flywheel
