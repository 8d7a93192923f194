find_package(CLI11 REQUIRED)
add_executable(hlo-opt
  ${CMAKE_CURRENT_LIST_DIR}/hlo_opt.cc ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/arguments.cc
  ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/flags.cc ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/lists.cc
  ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/load.cc ${CMAKE_CURRENT_LIST_DIR}/hlo_opt/prove.cc)
target_link_libraries(hlo-opt PRIVATE hlokit_passes hlokit_eval hlokit_input hlokit_print fmt::fmt CLI11::CLI11)
