add_library(flywheel_warnings INTERFACE)
target_compile_options(flywheel_warnings INTERFACE
  -Wall -Wextra -Werror -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)

# flywheel_library(<name> [SRCS a.cc b.cc] [DEPS x y] [PRIVATE_DEPS z] [TORCH])
# One folder's code; without SRCS it is a folder of headers. TORCH links torch
# PRIVATE (its include folder carries old Protobuf headers) and shares one
# precompiled torch/torch.h.
function(flywheel_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS}
      PRIVATE ${ARG_PRIVATE_DEPS} flywheel_warnings)
    if(ARG_TORCH)
      flywheel_use_torch(${name})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# Links torch PRIVATE, as system headers, with the precompiled torch/torch.h.
function(flywheel_use_torch name)
  target_link_libraries(${name} PRIVATE flywheel_torch)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    if(NOT TARGET flywheel_torch_pch)
      file(WRITE ${CMAKE_BINARY_DIR}/torch_pch.cc "")
      add_library(flywheel_torch_pch OBJECT ${CMAKE_BINARY_DIR}/torch_pch.cc)
      target_link_libraries(flywheel_torch_pch PRIVATE flywheel_torch flywheel_warnings)
      target_precompile_headers(flywheel_torch_pch PRIVATE <torch/torch.h>)
    endif()
    target_precompile_headers(${name} REUSE_FROM flywheel_torch_pch)
  endif()
endfunction()

if(FLYWHEEL_WITH_TORCH)
  add_library(flywheel_torch INTERFACE)
  target_include_directories(flywheel_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(flywheel_torch INTERFACE ${TORCH_LIBRARIES})
  separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(flywheel_torch INTERFACE ${torch_flags})
endif()

# What ./flywheel builds: the processes and nothing else.
add_custom_target(flywheel_programs)

# flywheel_executable(<name> SRCS main.cc [DEPS x y] [TORCH])   a process
function(flywheel_executable name)
  cmake_parse_arguments(ARG "TORCH" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} flywheel_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  if(name MATCHES "^flywheel(-|$)")
    add_dependencies(flywheel_programs ${name})
  endif()
  if(ARG_TORCH)
    flywheel_use_torch(${name})
  endif()
endfunction()

# flywheel_test(<name> DEPS x [LABELS grpc] [TORCH] [TIMEOUT s])
# Builds <name>.cc, registers each of its tests with CTest.
function(flywheel_test name)
  cmake_parse_arguments(ARG "TORCH" "TIMEOUT" "DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${name}.cc)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} flywheel_warnings GTest::gtest_main)
  if(ARG_TORCH)
    flywheel_use_torch(${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()

# flywheel_proto_library(<name> a.proto ...)   messages
function(flywheel_proto_library name)
  set(out ${CMAKE_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} SYSTEM PUBLIC ${out})
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
  protobuf_generate(TARGET ${name} IMPORT_DIRS ${PROJECT_SOURCE_DIR}/proto
    PROTOC_OUT_DIR ${out})
endfunction()

# flywheel_grpc_library(<name> MESSAGES <proto library> a.proto ...)   stubs
function(flywheel_grpc_library name)
  cmake_parse_arguments(ARG "" "MESSAGES" "" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/proto)
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} SYSTEM PUBLIC ${out})
  target_link_libraries(${name} PUBLIC ${ARG_MESSAGES} gRPC::grpc++)
  protobuf_generate(
    TARGET ${name} LANGUAGE grpc IMPORT_DIRS ${PROJECT_SOURCE_DIR}/proto
    PROTOC_OUT_DIR ${out} GENERATE_EXTENSIONS .grpc.pb.h .grpc.pb.cc
    PLUGIN protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>)
endfunction()
