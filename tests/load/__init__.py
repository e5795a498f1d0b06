"""Both stores under load, under fire and under the microscope."""
