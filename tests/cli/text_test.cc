#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/html_text.h"
#include "cli/likely_name.h"
#include "cli/number_format.h"
#include "cli/number_text.h"
#include "cli/text_checks.h"

namespace flywheel {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(WholeNumberTest, ReadsExactlyWhatIsWhole) {
  const std::pair<const char*, int64_t> cases[] = {
      {"0", 0},      {"-0", 0},    {"007", 7},    {"1_000", 1000},
      {"9.5e1", 95}, {"0.5e1", 5}, {"100e-2", 1}, {"-12", -12},
      {".5e1", 5},   {"5.", 5},    {"0e9999", 0}, {"1e18", 1000000000000000000},
  };
  for (const auto& [text, value] : cases) {
    const auto number = WholeNumberFromText(text);
    ASSERT_TRUE(number.has_value()) << text;
    EXPECT_EQ(static_cast<int64_t>(*number), value) << text;
  }
}

TEST(WholeNumberTest, RefusesTheRest) {
  for (const char* text : {"",
                           "-",
                           "+",
                           ".",
                           "e5",
                           "1e",
                           "1e+",
                           "1.5",
                           "1e-1",
                           "0x1",
                           "1 ",
                           " 1",
                           "_1",
                           "1_",
                           "1__0",
                           "1e9999",
                           "1e99999999999",
                           "one",
                           "1,000",
                           "١",
                           "9999999999999999999999999999999",
                           "--1",
                           "1e5.0"}) {
    EXPECT_FALSE(WholeNumberFromText(text).has_value()) << text;
  }
}

TEST(NumberTest, ReadsFiniteDecimalsToTheNearestDouble) {
  const std::pair<const char*, double> cases[] = {
      {"0.1", 0.1},        {"+1.5", 1.5},   {"-3e-4", -3e-4},
      {"1_000.5", 1000.5}, {"1e-400", 0.0}, {"5e-324", 5e-324},
      {".25", 0.25},       {"1E3", 1000},
  };
  for (const auto& [text, value] : cases) {
    ASSERT_TRUE(NumberFromText(text).has_value()) << text;
    EXPECT_EQ(*NumberFromText(text), value) << text;
  }
}

TEST(NumberTest, RefusesWhatIsNotFiniteOrNoDecimal) {
  for (const char* text : {"nan", "inf", "-inf", ".inf", ".nan", "1e999",
                           "-1e999", "0x1p3", "", "1f", "infinity", "1e5e5"}) {
    EXPECT_FALSE(NumberFromText(text).has_value()) << text;
  }
}

TEST(LikelyNameTest, FindsTheNearestOrNone) {
  const std::vector<std::string> names = {"train", "eval", "validate",
                                          "unroll_length"};
  const std::pair<const char*, const char*> cases[] = {
      {"trian", "train"},
      {"TRAIN", "train"},
      {"valdate", "validate"},
      {"unroll-length", "unroll_length"},
      {"unrol_lenght", "unroll_length"},
      {"evla", "eval"},
      {"xyzzy", ""},
      {"", ""},
      {"t", ""},
  };
  for (const auto& [text, likely] : cases) {
    EXPECT_EQ(LikelyName(text, names), likely) << text;
  }
  EXPECT_EQ(LikelyName(std::string(100000, 'a'), names), "");
}

TEST(ShellQuotedTest, IsOneWordOfACommandLine) {
  EXPECT_EQ(ShellQuoted("runs/a-1"), "runs/a-1");
  EXPECT_EQ(ShellQuoted("my run"), "'my run'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted("$(x)"), "'$(x)'");
  EXPECT_EQ(ShellQuoted(""), "''");
}

TEST(QuotedTest, IsOneLineOfBoundedLength) {
  EXPECT_EQ(Quoted("a\"b\n\x01"), R"("a\"b\n\001")");
  EXPECT_EQ(Quoted("é"), "\"é\"");
  EXPECT_EQ(Quoted(std::string(200, 'x')), "\"" + std::string(80, 'x') + "…\"");
  // Never cuts a character in two.
  EXPECT_EQ(Quoted(std::string(79, 'x') + "é" + "yyyy"),
            "\"" + std::string(79, 'x') + "…\"");
}

TEST(Utf8Test, NamesTheFirstLineThatIsNoText) {
  EXPECT_EQ(FirstLineThatIsNoText("a\nb\tc\r\né€😀"), 0);
  const std::string bad[] = {"\x80",
                             "\xc3",
                             "\xc0\x80",
                             "\xe0\x80\x80",
                             "\xed\xa0\x80",
                             "\xf4\x90\x80\x80",
                             "\xf8\x88\x80\x80\x80",
                             "\xff",
                             std::string(1, 0),
                             "\x1b[2J",
                             "\x7f"};
  for (const std::string& text : bad) {
    EXPECT_EQ(FirstLineThatIsNoText("a\n" + text), 2) << Quoted(text);
  }
}

TEST(HtmlTextTest, LeavesNoMarkupWhateverTheBytes) {
  EXPECT_EQ(HtmlText("<script>alert('x') & \"y\"</script>"),
            "&lt;script&gt;alert(&#39;x&#39;) &amp; &quot;y&quot;&lt;/script"
            "&gt;");
  EXPECT_EQ(HtmlText("é\xff\x01\n"), "é\xef\xbf\xbd\xef\xbf\xbd\n");
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string html = HtmlText(text);
    ASSERT_EQ(html.find_first_of("<>\"'"), std::string::npos)
        << "seed " << seed;
    ASSERT_EQ(FirstLineThatIsNoText(html), 0) << "seed " << seed;
  }
}

TEST(NumberFormatTest, GroupsThousands) {
  const std::pair<int64_t, const char*> cases[] = {
      {0, "0"},
      {999, "999"},
      {1000, "1,000"},
      {-999, "-999"},
      {-1000, "-1,000"},
      {1234567, "1,234,567"},
      {std::numeric_limits<int64_t>::min(), "-9,223,372,036,854,775,808"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(Grouped(value), text);
}

TEST(NumberFormatTest, CompactShowsAboutThreeDigits) {
  const std::pair<double, const char*> cases[] = {
      {0, "0"},          {0.5, "0.5"},      {-0.0004, "-0.0004"},
      {0.0312, "0.031"}, {3.14159, "3.14"}, {-18, "-18"},
      {2913.4, "2913"},  {12345, "12.3k"},  {2e6, "2M"},
      {999999, "1M"},    {1.5e9, "1.5G"},   {1e300, "1e+300"},
      {kNan, "–"},       {kInfinity, "–"},  {99.96, "100"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(Compact(value), text);
}

TEST(NumberFormatTest, DurationsAndShares) {
  EXPECT_EQ(Duration(0.4), "0 s");
  EXPECT_EQ(Duration(59.6), "1:00");
  EXPECT_EQ(Duration(72), "1:12");
  EXPECT_EQ(Duration(7384), "2:03:04");
  EXPECT_EQ(Duration(-1), "–");
  EXPECT_EQ(Duration(kInfinity), "–");
  EXPECT_EQ(Percent(0.945), "94.5 %");
  EXPECT_EQ(Percent(1), "100 %");
  EXPECT_EQ(Percent(kNan), "–");
}

}  // namespace
}  // namespace flywheel
