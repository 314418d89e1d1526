#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace flywheel {

using Texts = std::vector<std::string>;

// For EXPECT_TRUE(Contains(...)): says what was there instead.

inline testing::AssertionResult Contains(absl::string_view text,
                                         absl::string_view part) {
  if (absl::StrContains(text, part)) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "no \"" << part << "\" in \"" << text << "\"";
}

inline testing::AssertionResult Contains(const Texts& texts,
                                         const std::string& text) {
  if (std::find(texts.begin(), texts.end(), text) != texts.end()) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "no \"" << text << "\" in " << testing::PrintToString(texts);
}

}  // namespace flywheel
