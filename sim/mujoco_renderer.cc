#include "sim/mujoco_renderer.h"

#include <GL/osmesa.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace flywheel {
namespace {

constexpr int kDepthBits = 24;
constexpr int kStencilBits = 8;
constexpr int kMaxGeoms = 1000;

// Images this small gain nothing from the rasterizer's own threads, which would
// compete with those that step. Set before Mesa reads it, unless the user did.
void KeepRasterizerInThisThread() {
  static std::once_flag once;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  std::call_once(once, [] { setenv("LP_NUM_THREADS", "0", 0); });
}

// What costs time and shows nothing a policy needs.
void SwitchOffEffects(mjvScene& scene) {
  for (const int flag : {mjRND_SHADOW, mjRND_REFLECTION, mjRND_SKYBOX,
                         mjRND_FOG, mjRND_HAZE, mjRND_ADDITIVE}) {
    scene.flags[flag] = 0;
  }
}

}  // namespace

struct MujocoRenderer::Context {
  OSMesaContext osmesa = nullptr;
  std::vector<std::byte> framebuffer;  // What OSMesa wants to be given.
  std::vector<std::byte> rows;         // Bottom-up, as OpenGL reads them.
  mjvScene scene;
  mjvOption option;
  mjvCamera camera;
  mjvPerturb perturb;
  mjrContext renderer;

  void MakeCurrent() {
    if (OSMesaGetCurrentContext() == osmesa) return;
    OSMesaMakeCurrent(osmesa, framebuffer.data(), GL_UNSIGNED_BYTE, 1, 1);
  }
};

MujocoRenderer& MujocoRenderer::ForThisThread(const MujocoModel& model) {
  thread_local std::map<const mjModel*, std::unique_ptr<MujocoRenderer>>
      renderers;
  std::unique_ptr<MujocoRenderer>& renderer = renderers[model.get()];
  if (renderer == nullptr) renderer = std::make_unique<MujocoRenderer>(model);
  return *renderer;
}

MujocoRenderer::MujocoRenderer(MujocoModel model)
    : model_(std::move(model)), context_(std::make_unique<Context>()) {
  KeepRasterizerInThisThread();
  Context& context = *context_;
  context.framebuffer.resize(4);
  context.osmesa =
      OSMesaCreateContextExt(GL_RGBA, kDepthBits, kStencilBits, 0, nullptr);
  if (context.osmesa == nullptr) {
    std::fprintf(stderr,
                 "OSMesa cannot make a rendering context: run ./flywheel "
                 "doctor\n");
    std::abort();
  }
  context.MakeCurrent();
  mjv_defaultScene(&context.scene);
  mjv_defaultOption(&context.option);
  mjv_defaultPerturb(&context.perturb);
  mjv_defaultCamera(&context.camera);
  mjr_defaultContext(&context.renderer);
  mjv_makeScene(model_.get(), &context.scene, kMaxGeoms);
  mjr_makeContext(model_.get(), &context.renderer, mjFONTSCALE_50);
  mjr_setBuffer(mjFB_OFFSCREEN, &context.renderer);
  SwitchOffEffects(context.scene);
  context.camera.type = mjCAMERA_FIXED;
}

MujocoRenderer::~MujocoRenderer() {
  context_->MakeCurrent();
  mjr_freeContext(&context_->renderer);
  mjv_freeScene(&context_->scene);
  OSMesaMakeCurrent(nullptr, nullptr, GL_UNSIGNED_BYTE, 0, 0);
  OSMesaDestroyContext(context_->osmesa);
}

void MujocoRenderer::Render(mjData& data, const View& view,
                            std::span<std::byte> pixels) {
  Context& context = *context_;
  context.MakeCurrent();
  context.camera.fixedcamid = view.camera;
  mjv_updateScene(model_.get(), &data, &context.option, &context.perturb,
                  &context.camera, mjCAT_ALL, &context.scene);
  const mjrRect rect = {0, 0, view.width, view.height};
  mjr_render(rect, &context.scene, &context.renderer);
  const std::size_t row_bytes = static_cast<std::size_t>(view.width) * 3;
  context.rows.resize(row_bytes * view.height);
  mjr_readPixels(reinterpret_cast<unsigned char*>(context.rows.data()), nullptr,
                 rect, &context.renderer);
  for (int row = 0; row < view.height; ++row) {
    std::memcpy(pixels.data() + row * row_bytes,
                context.rows.data() + (view.height - 1 - row) * row_bytes,
                row_bytes);
  }
}

}  // namespace flywheel
