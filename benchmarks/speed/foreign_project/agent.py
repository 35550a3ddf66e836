"""The measured agent, as a project that knows nothing of this engine has it."""

from langchain.agents import create_agent
from rig import StepModel, add

steps = create_agent(StepModel(), [add])
