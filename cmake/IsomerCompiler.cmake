# Language, warnings, sanitizers and ccache for every target of the project.

option(ISOMER_TESTS "Build the tests" ON)
option(ISOMER_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(ISOMER_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize takes them: address,undefined")

option(ISOMER_PYTHON "The extension module of the Python package (pyproject.toml)" OFF)
if(ISOMER_PYTHON)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()

option(ISOMER_PORTABLE "Executables for other machines: LLVM inside, other libraries in lib beside their folder" OFF)
if(ISOMER_PORTABLE)
  set(CMAKE_BUILD_RPATH "$ORIGIN/../lib:$ORIGIN/../../lib")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
endif()

# A float result must not depend on whether the compiler saw a multiplication next to an addition.
add_compile_options(-ffp-contract=off)

add_library(isomer_warnings INTERFACE)
target_compile_options(isomer_warnings INTERFACE -Wall -Wextra -Werror)

# With CMAKE_UNITY_BUILD (the preset `release`) about eight sources of a target are compiled as one: their headers are
# read, and what they instantiate is made, once. Names of anonymous namespaces meet then; a clash is repaired by sharing
# the thing or by a better name, and isomer_alone is for sources that are better left as they are.
function(isomer_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Groups the sources of all targets in a folder and those below. Which group a source is in depends on its name alone, as
# long as a target does not become much larger: a new source meets the names of one group, and moves no other.
function(isomer_group_sources folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(sources ${target} SOURCES)
    get_target_property(place ${target} SOURCE_DIR)
    list(FILTER sources INCLUDE REGEX "[.]cpp$")
    list(LENGTH sources count)
    set(groups 1)
    while(count GREATER 12)
      math(EXPR groups "2 * ${groups}")
      math(EXPR count "${count} / 2")
    endwhile()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
    foreach(source ${sources})
      get_filename_component(name ${source} NAME)
      string(MD5 hash ${name})
      string(SUBSTRING ${hash} 0 6 digits)
      math(EXPR group "0x${digits} % ${groups}")
      get_filename_component(path ${source} ABSOLUTE BASE_DIR ${place})
      set_source_files_properties(${path} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
    endforeach()
  endforeach()
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(folder_below ${below})
    isomer_group_sources(${folder_below})
  endforeach()
endfunction()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It takes an included source for a header, whose types would be seen elsewhere; and what is inlined across so much
  # code for uninitialized (std::optional, GCC's bug 80635), which the other presets look for.
  target_compile_options(isomer_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>)
endif()

# What spends its time in other libraries is compiled for the compiler's.
function(isomer_glue)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endforeach()
endfunction()

if(ISOMER_SANITIZE)
  add_compile_options(-fsanitize=${ISOMER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${ISOMER_SANITIZE})
  # Indices beyond a vector's size, but within its memory, too.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(ISOMER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "ISOMER_FUZZ needs clang, found ${CMAKE_CXX_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
