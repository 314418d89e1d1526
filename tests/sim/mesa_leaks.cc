// Mesa 22.3 forgets 160 bytes of every OSMesa context it destroys, and 300 more
// of the first: a program of five lines, without us, leaks the same. What
// MuJoCo and we ourselves allocate for a renderer is still watched.

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the
// sanitizer's name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libOSMesa\n";
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
