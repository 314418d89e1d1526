#include "services/policy/mlp_kernel.h"

namespace flywheel {
namespace {

namespace plain {
#define FLYWHEEL_TARGET
#include "services/policy/mlp_kernel_body.inc"
#undef FLYWHEEL_TARGET
}  // namespace plain

#if defined(__x86_64__)

namespace avx2 {
#define FLYWHEEL_TARGET __attribute__((target("avx2,fma")))
#include "services/policy/mlp_kernel_body.inc"
#undef FLYWHEEL_TARGET
}  // namespace avx2

namespace avx512 {
#define FLYWHEEL_TARGET __attribute__((target("avx512f,fma")))
#include "services/policy/mlp_kernel_body.inc"
#undef FLYWHEEL_TARGET
}  // namespace avx512

#endif

using Kernel = void (*)(const MlpLayer&);

Kernel BestKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return avx512::Compute;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return avx2::Compute;
  }
#endif
  return plain::Compute;
}

}  // namespace

void ComputeMlpLayer(const MlpLayer& layer) {
  static const Kernel kernel = BestKernel();
  kernel(layer);
}

}  // namespace flywheel
