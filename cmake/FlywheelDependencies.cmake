# Every library the project uses, found in one place. Debian packages, except
# torch and mujoco, whose headers and libraries come from their Python wheels in
# .deps/venv (or from any other site-packages folder in FLYWHEEL_SITE_PACKAGES).

if(NOT FLYWHEEL_SITE_PACKAGES)
  file(GLOB site_packages ${PROJECT_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages)
  set(FLYWHEEL_SITE_PACKAGES "${site_packages}" CACHE PATH
      "Python site-packages with the torch and mujoco wheels")
endif()
if(NOT FLYWHEEL_TORCH_SITE_PACKAGES)
  set(FLYWHEEL_TORCH_SITE_PACKAGES "${FLYWHEEL_SITE_PACKAGES}" CACHE PATH
      "Python site-packages with torch, if not that folder (one with CUDA)" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(benchmark CONFIG QUIET)
find_package(PkgConfig REQUIRED)
# The tests' Python has the wheels.
if(NOT Python3_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/.deps/venv/bin/python)
  set(Python3_EXECUTABLE ${PROJECT_SOURCE_DIR}/.deps/venv/bin/python)
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)

if(FLYWHEEL_WITH_WIRE)
  find_package(Protobuf REQUIRED)  # Before Torch, which ships older headers.
  find_package(cppzmq CONFIG REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  find_package(nlohmann_json CONFIG REQUIRED)
  find_package(spdlog CONFIG REQUIRED)
  find_package(SQLite3 REQUIRED)
  pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
endif()

if(FLYWHEEL_WITH_GRPC)
  find_package(gRPC CONFIG REQUIRED)
  find_package(yaml-cpp REQUIRED)
  find_package(CLI11 CONFIG REQUIRED)
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
endif()

if(FLYWHEEL_WITH_TORCH)
  find_package(Torch REQUIRED CONFIG PATHS
    ${FLYWHEEL_TORCH_SITE_PACKAGES}/torch/share/cmake/Torch NO_DEFAULT_PATH)
endif()

if(FLYWHEEL_WITH_MUJOCO)
  set(mujoco_dir ${FLYWHEEL_SITE_PACKAGES}/mujoco)
  file(GLOB mujoco_library ${mujoco_dir}/libmujoco.so.*)
  if(NOT mujoco_library)
    message(FATAL_ERROR "no libmujoco.so in ${mujoco_dir}: run ./flywheel doctor")
  endif()
  add_library(mujoco::mujoco SHARED IMPORTED GLOBAL)
  set_target_properties(mujoco::mujoco PROPERTIES
    IMPORTED_LOCATION ${mujoco_library}
    INTERFACE_INCLUDE_DIRECTORIES ${mujoco_dir}/include)
  pkg_check_modules(osmesa REQUIRED IMPORTED_TARGET osmesa)
endif()
